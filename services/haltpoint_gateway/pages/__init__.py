"""The pages: what people see and answer in a browser, over the same functions as the HTTP API."""
