--[[
hp1_answer request answer by by_json token head

Take an answer: once, in time, for an open question of a living chain.
  answer   JSON of contracts.humans.Answer; by: who; by_json: the same as JSON text
  token    new for each wish to answer; the same answer under it again is a repeat whose first reply was lost: taken
  head     of the message human.answered, up to and with `"answer":`
Returns {status, at, by, answer}: taken | answered (with by, at and answer of the first) | expired | stale (withdrawn,
or the chain is over) | unknown.
]]
register('answer', function(keys, args)
  local prefix, id = prefix_of(keys), args[1]
  local key = prefix .. 'request:' .. id
  local is = redis.call('HMGET', key, 'status', 'deadline', 'chain', 'at', 'by', 'answer', 'token')
  local at = now(prefix)
  if not is[1] then
    return { 'unknown', 0, '', '' }
  end
  if is[1] == 'answered' then
    local repeated = is[7] == args[5] and is[6] == args[2]
    return { repeated and 'taken' or 'answered', tonumber(is[4]), is[5], is[6] }
  end
  if is[1] == 'expired' or (is[1] == 'open' and tonumber(is[2]) <= at) then
    return { 'expired', tonumber(is[2]), '', '' }
  end
  local status = redis.call('HGET', prefix .. 'chain:' .. is[3], 'status')
  if is[1] ~= 'open' or not status or FINAL[status] then
    return { 'stale', 0, '', '' }
  end
  redis.call('HSET', key, 'status', 'answered', 'answer', args[2], 'by', args[3], 'at', digits(at), 'token', args[5])
  redis.call('ZREM', prefix .. 'index:requests', id)
  add(prefix, 'events', args[6] .. args[2] .. ',"by":' .. args[4] .. ',"at":' .. digits(at) .. '}}')
  return { 'taken', at, args[3], args[2] }
end)

--[[
hp1_cancel chain message

Ask the executor to stop a chain. A repeat is a second message with the same id, which the machine ignores.
Returns sent | final | unknown.
]]
register('cancel', function(keys, args)
  local prefix = prefix_of(keys)
  local status = redis.call('HGET', prefix .. 'chain:' .. args[1], 'status')
  if not status then
    return 'unknown'
  end
  if FINAL[status] then
    return 'final'
  end
  add(prefix, 'events', args[2])
  return 'sent'
end)
