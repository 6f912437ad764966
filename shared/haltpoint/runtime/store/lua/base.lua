-- What all functions share. The names of keys and fields (PREFIX, KEY, HEAD, DATA, PART, STATE, KIND) are in
-- runtime/store/rows.py.
--
-- Rules that hold for every function of this library:
--  - KEYS[1] is `hp:{p}:events` of one partition; all other keys are of that partition and are made from its prefix.
--  - Redis 7.0 commands only. Payloads are opaque bytes: they are joined with others as text, never parsed.
--  - Everything is checked before the first write: Lua has no rollback.
--  - An entry of a work stream that is finished is XACKed and XDELeted together; MAXLEN is never used.
--  - Repeating a call with the same arguments changes nothing and says what the first one said, or that it was one.

local GROUPS = { events = 'executor', plans = 'planner', humans = 'gateway' }
local WORKERS = 'tool-worker'
local FINAL = { completed = true, failed = true, cancelled = true }
local LIVE = { 'accepted', 'planning', 'executing', 'awaiting_clarification', 'awaiting_confirmation',
  'awaiting_input', 'escalated' }
local DAY = 86400000

-- What brings things to their end goes on when the memory is full: refused, it would only be delivered again and again
-- until it counts as poison. What begins something (submit, requeue, answer) is refused then, and says so. The server
-- refuses a function before its first line, by these flags, and nothing more once it has written: so it is whole or not
-- at all, whatever the server refuses for (runtime/streams/refused.py).
local BEGINS = { submit = true, requeue = true, answer = true }

-- 'hp:{3}:events' -> 'hp:{3}:'
local function prefix_of(keys)
  return string.sub(keys[1], 1, -7)
end

-- One of a chain's keys.
local function row(prefix, key, chain)
  return prefix .. key .. ':' .. chain
end

-- The id of an action, request or thought: its chain's, and its own inside the chain.
local function split(id)
  return string.match(id, '^([^.]*)%.?(.*)$')
end

-- Milliseconds since the epoch by the server's own clock: for leases and for what ages.
local function real_now()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

-- The time that deadlines live in: the real one plus the test kit's offset.
local function now(prefix)
  return real_now() + tonumber(redis.call('GET', prefix .. 'clock') or 0)
end

-- A Lua number prints large integers as 1.7e+12; Redis wants digits.
local function digits(number)
  return string.format('%.0f', number)
end

-- A clock that never goes back, for what must not last longer than it was given for: an approval (G1). The hash `time` has how late
-- it was at the last look, `seen`, and how far the server's own clock has gone back before that, in all: `back`.
local function read_clock(prefix)
  local back, seen = unpack(redis.call('HMGET', prefix .. 'time', 'back', 'seen'))
  return real_now() + tonumber(back or 0), tonumber(seen or 0)
end

local function strict_now(prefix)
  return math.max(read_clock(prefix)) + tonumber(redis.call('GET', prefix .. 'clock') or 0)
end

-- Each service looks once a second, an executor with each look at its timers too.
local function note_time(prefix)
  local at, seen = read_clock(prefix)
  if at < seen then
    redis.call('HINCRBY', prefix .. 'time', 'back', digits(seen - at))
  else
    redis.call('HSET', prefix .. 'time', 'seen', digits(at))
  end
end

-- Replies, or what a reply begins with, by which a function says that it did what was asked for.
local DONE = { created = true, taken = true, sent = true, requeued = true, [1] = true }

-- A function that is called with a second key, `hp:{p}:audit`, writes a line there about what it did. Its last two
-- arguments are the ms for which lines are kept, and the line; the function itself does not see them.
local function audited(callback, prefix, audit, args)
  local line, age
  if audit then
    line, age = table.remove(args), tonumber(table.remove(args))
  end
  local reply = callback(prefix, args, unpack(args, 1, 10))
  if line and DONE[type(reply) == 'table' and reply[1] or reply] then
    redis.call('XADD', audit, 'MINID', '~', digits(real_now() - age), '*', 'line', line)
  end
  return reply
end

-- Terms (R10). Each call counts up `seq`, and this server knows in its own memory, which no copy of its data has, how far it
-- has counted. When the data say otherwise, another server wrote them last, or this one before a restart, a flush, a snapshot:
-- a term begins. `terms` lists when each began, and what was counted before it. Who has heard more than that has lost something
-- (recovery.lua). `opens`: no claim is granted until all have had the time to say so. Each version of the library counts for itself.
local ROLL_CALL, TERMS_KEPT = 2000, 100 -- ms, terms
local SEQ, TERMS = 'seq:' .. PREFIX, 'terms:' .. PREFIX
local terms = {}

-- What was found to be lost stays on record until a person has seen it.
local function note_loss(prefix, before, after)
  local key = prefix .. 'lost'
  local worst = math.max(before, tonumber(redis.call('HGET', key, 'before') or 0))
  redis.call('HSET', key, 'at', digits(real_now()), 'before', digits(worst), 'after', digits(after))
  terms[prefix].opens = real_now() + ROLL_CALL
end

local function begin_term(prefix, seq, step)
  local last, began = terms[prefix], real_now()
  local is_new = seq == step and not last
  terms[prefix] = { seq = seq, began = began, opens = is_new and 0 or began + ROLL_CALL }
  redis.call('RPUSH', prefix .. TERMS, digits(began) .. ' ' .. digits(seq - step))
  redis.call('LTRIM', prefix .. TERMS, -TERMS_KEPT, -1)
  redis.call('PERSIST', prefix .. SEQ) -- the library was removed, and is back (library.py)
  redis.call('PERSIST', prefix .. TERMS)
  if last and last.seq > seq - step then
    note_loss(prefix, last.seq, seq - step)
  end
end

-- Whether processes may know more of the partition than this server. Where its clock went back meanwhile, they get their time anew.
local function is_recovering(prefix)
  local at, term = real_now(), terms[prefix]
  term.opens = math.min(term.opens, at + ROLL_CALL)
  return term.opens > at
end

-- Who looks (step 0) does not count.
local function count_up(prefix, step)
  local key, term = prefix .. SEQ, terms[prefix]
  local seq = step == 1 and redis.call('INCR', key) or tonumber(redis.call('GET', key) or 0)
  if not term or term.seq + step ~= seq then
    begin_term(prefix, seq, step)
  else
    term.seq = seq
  end
end

-- While a slot of a cluster moves, keys that are not here may be at the other node: the server refuses them, as this one
-- that is at neither. A function that has begun would end in the middle of its writes, so none begins.
local function while_whole(callback)
  return function(keys, args)
    local probe = redis.pcall('GET', prefix_of(keys) .. 'nothing')
    if probe and probe.err and string.find(probe.err, 'non local key', 1, true) then
      return redis.error_reply('TRYAGAIN ' .. probe.err)
    end
    return callback(keys, args)
  end
end

-- A function gets the prefix, the list of its arguments, and the first ten of them by themselves. It answers {reply, seq, when the
-- term began}.
local function register(name, callback)
  local step, flags = name == 'look' and 0 or 1, BEGINS[name] and {} or { 'allow-oom' }
  local function counted(keys, args)
    local prefix = prefix_of(keys)
    count_up(prefix, step)
    local reply = audited(callback, prefix, keys[2], args)
    return { reply or false, terms[prefix].seq, terms[prefix].began }
  end
  redis.register_function{ function_name = PREFIX .. name, callback = while_whole(counted), flags = flags }
end

-- rights command...: which of these, each in words between spaces, its caller may not run, or this server does not know: {number, code}
-- of each. A function runs with its user's rights and would end in its middle, so they are asked before (service/rights.py).
redis.register_function{ function_name = PREFIX .. 'rights', flags = { 'no-writes', 'allow-oom', 'allow-stale' },
  callback = while_whole(function(_, args)
    local lacks = {}
    for n, command in ipairs(args) do
      local words = {}
      for word in string.gmatch(command, '%S+') do
        table.insert(words, word)
      end
      local known, allowed = pcall(redis.acl_check_cmd, unpack(words))
      if not (known and allowed) then
        table.insert(lacks, { n, known and 'NOPERM' or 'NOCOMMAND' })
      end
    end
    return lacks
  end) }

-- One command that answers 1 when it changed a key of this partition: for what needs no more than a line in the audit.
register('change', function(prefix, args, command, key)
  return redis.call(command, prefix .. key, unpack(args, 3))
end)

-- note_policy digest: of the policy file that counts now, '' for none. Returns 1 when the last one was another.
register('note_policy', function(prefix, _, digest)
  local before = redis.call('SET', prefix .. 'policy', digest, 'GET') or ''
  return before == digest and 0 or 1
end)

local function group_of(stream)
  return GROUPS[stream] or WORKERS
end

-- Finish entries of one stream, `stream` without the prefix, in portions that `unpack` can take.
local function finish_all(prefix, stream, entries)
  local key, group = prefix .. stream, group_of(stream)
  for first = 1, #entries, 200 do
    local last = math.min(first + 199, #entries)
    redis.call('XACK', key, group, unpack(entries, first, last))
    redis.call('XDEL', key, unpack(entries, first, last))
  end
end

local function finish(prefix, stream, entry)
  finish_all(prefix, stream, { entry })
end

local function add(prefix, stream, data, body)
  if body and body ~= '' then
    return redis.call('XADD', prefix .. stream, '*', '__data__', data, '__body__', body)
  end
  return redis.call('XADD', prefix .. stream, '*', '__data__', data)
end

-- A message that a function writes by itself. Ids need no escaping; `data` is JSON, `trace` may be absent or ''.
local function envelope(id, chain, name, data, trace)
  local traced = (trace and trace ~= '') and ('"traceparent":"' .. trace .. '",') or ''
  return '{"specversion":"1.0","id":"' .. id .. '","source":"haltpoint/executor","subject":"' .. chain .. '",' .. traced
    .. '"type":"' .. name .. '.v1","data":' .. data .. '}'
end

-- Tells a chain that a message does not come. `reason` needs no escaping.
local function lost(message, chain, reason, trace)
  return envelope(message .. '/lost', chain, 'message.lost',
    '{"message_id":"' .. message .. '","reason":"' .. reason .. '"}', trace)
end

-- The fields of one entry as a flat list, or nil when it is gone.
local function fields_of(prefix, stream, entry)
  local found = redis.call('XRANGE', prefix .. stream, entry, entry)
  return found[1] and found[1][2]
end

-- The consumer that holds this pending entry, or nil.
local function holder_of(prefix, stream, entry)
  local pending = redis.call('XPENDING', prefix .. stream, group_of(stream), entry, entry, 1)
  return pending[1] and pending[1][2]
end

-- A chain, whole, with its first message: nothing of it was there before. `deadline` in ms; `trace` may be ''. The
-- message brings what was written, so that who reads it first need not load the chain.
local function begin_chain(prefix, at, chain, digest, version, task, head, deadline, trace)
  local created = digits(at)
  redis.call('HSET', row(prefix, KEY.CHAIN, chain), HEAD.VERSION, version, HEAD.STATUS, 'accepted',
    HEAD.CREATED, created, HEAD.UPDATED, created, HEAD.DEADLINE, deadline, HEAD.DIGEST, digest)
  if trace ~= '' then
    redis.call('HSET', row(prefix, KEY.CHAIN, chain), HEAD.TRACE, trace)
  end
  redis.call('HSET', row(prefix, KEY.DATA, chain), DATA.TASK, task)
  redis.call('SREM', prefix .. 'gone', chain) -- recovery.lua
  redis.call('ZADD', prefix .. 'timers', deadline, chain)
  redis.call('ZADD', prefix .. 'index:status:accepted', created, chain)
  redis.call('XADD', prefix .. 'events', '*', '__data__', head, DATA.TASK, task, HEAD.VERSION, version,
    HEAD.CREATED, created, HEAD.DEADLINE, deadline)
end

-- Whether the chain is there and not over.
local function lives(prefix, chain)
  local status = redis.call('HGET', row(prefix, KEY.CHAIN, chain), HEAD.STATUS)
  return status and not FINAL[status]
end

-- A message for a chain that lives; whether it does.
local function tell(prefix, chain, message)
  return lives(prefix, chain) and add(prefix, 'events', message)
end

-- Entries of more values than this are not ours; `unpack` would fail for the longest of them.
local MANY = 1000

-- Put an entry among the dead letters: seven fields of ours in this order (stream, entry, reason, detail, chain, id, at),
-- then its own, then finish it. One of very many fields is kept as one field `__packed__` (MessagePack of the flat list).
-- Returns the dead letter's id, or nil when the entry was gone.
local function dead_letter(prefix, stream, entry, reason, detail, chain, id)
  local bytes = fields_of(prefix, stream, entry)
  local letter
  if bytes then
    if #bytes > MANY then
      bytes = { '__packed__', cmsgpack.pack(bytes) }
    end
    letter = redis.call('XADD', prefix .. 'dead', '*', 'stream', stream, 'entry', entry, 'reason', reason,
      'detail', detail, 'chain', chain, 'id', id, 'at', digits(now(prefix)), unpack(bytes))
  end
  finish(prefix, stream, entry)
  return letter
end

-- An entry of the feed: new `lines` of logs, `<chain>:<n>` each, or a chain that has `changed`. What is older than `age` ms goes.
local function write_feed(prefix, age, name, words)
  redis.call('XADD', prefix .. 'feed', 'MINID', '~', digits(real_now() - age), '*', name, words)
end

local DAYS_KEPT = 31 -- of counters: a month and the day that has begun

-- A day's counters in one hash; a field that is new may be the first of its day. Totals are not by the day, and stay.
local function keep_count(prefix, counts)
  local key = prefix .. 'stats:' .. math.floor(real_now() / DAY)
  for field, by in pairs(counts) do
    local agent, total = string.match(field, '^open:(.*)$'), string.match(field, '^total:(.*)$')
    if agent then
      redis.call('HINCRBY', prefix .. 'open', agent, by)
    elseif total then
      redis.call('HINCRBY', prefix .. 'totals', total, by)
    elseif redis.call('HINCRBY', key, field, by) == by then
      redis.call('EXPIRE', key, DAYS_KEPT * DAY / 1000)
    end
  end
end
