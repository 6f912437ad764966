-- Returns recorded | again | final; only the first writes.
local function record_thought(prefix, thought, kind, data, raw, head, own)
  local chain, name = split(thought)
  local rows = row(prefix, KEY.DATA, chain)
  if redis.call('HEXISTS', rows, name) == 1 then
    return 'again'
  end
  if not lives(prefix, chain) then
    return 'final'
  end
  redis.call('HSET', rows, name, kind .. '\n' .. data .. '\n' .. raw)
  if own and own ~= '' then
    redis.call('HSET', rows, name .. '.' .. PART.OWN, own)
  end
  redis.call('HDEL', rows, name .. '.' .. PART.REST)
  redis.call('ZREM', prefix .. 'resting', thought)
  add(prefix, 'events', head .. data .. '}')
  return 'recorded'
end

-- record_thought entry thought type data raw head own
-- The planner records a thought and replies to the executor; the same thought is recorded once.
--   type, data  of the reply; the message is head .. data .. '}'
--   raw         the model's words
--   own         the provider's own message, to be sent back; empty: it is not kept
-- Returns recorded | again (it was recorded) | final (the chain is over or gone). The entry is finished in each case.
register('record_thought', function(prefix, args, entry)
  local status = record_thought(prefix, unpack(args, 2))
  finish(prefix, 'plans', entry)
  return status
end)

-- rest_thought entry thought after shortest longest deadline why
-- The model cannot answer now: the thought rests, and `fire_due` asks for it again. The entry is finished.
--   after              ms that the model's server asks to wait, or 0
--   shortest, longest  ms of the first rest and of the longest one; each is twice as long as the one before
--   deadline           ms since the epoch: the last try is a second before it
--   why                JSON fields that say why, for views
-- Returns resting (also when it did before) | final (the chain is over or gone) | late (no time is left; nothing was done).
register('rest_thought', function(prefix, _, entry, thought, after, shortest, longest, deadline, why)
  local chain, name = split(thought)
  local rows, part = row(prefix, KEY.DATA, chain), name .. '.' .. PART.REST
  if not lives(prefix, chain) or redis.call('HEXISTS', rows, name) == 1 then
    finish(prefix, 'plans', entry)
    return 'final'
  end
  local fields = fields_of(prefix, 'plans', entry)
  if not fields then
    return 'resting'
  end
  local at, last = now(prefix), tonumber(deadline) - 1000
  if at >= last then
    return 'late'
  end
  local before = redis.call('HGET', rows, part) or ''
  local tries = tonumber(string.match(before, '^{"tries":(%d+)') or 0)
  local since = string.match(before, '"since":(%d+)') or digits(at)
  local pause = math.min(tonumber(shortest) * 2 ^ math.min(tries, 20), tonumber(longest))
  -- Half of it is drawn, so that chains that began to wait together do not come back together.
  pause = math.max(tonumber(after), pause / 2 + real_now() % 1000 / 1000 * pause / 2)
  local due = math.min(at + pause, last)
  redis.call('HSET', rows, part, '{"tries":' .. tries + 1 .. ',"since":' .. since .. ',"until":' .. digits(due) .. ','
    .. why .. '}\n' .. fields[2])
  redis.call('ZADD', prefix .. 'resting', digits(due), thought)
  finish(prefix, 'plans', entry)
  return 'resting'
end)
