"""Messages on Redis Streams: keys, the connection, reading, acknowledging, the wire."""
