-- Returns recorded | again | final; only the first writes.
local function record_thought(prefix, thought, kind, data, raw, head)
  local chain, name = split(thought)
  local rows = row(prefix, KEY.DATA, chain)
  if redis.call('HEXISTS', rows, name) == 1 then
    return 'again'
  end
  local status = redis.call('HGET', row(prefix, KEY.CHAIN, chain), HEAD.STATUS)
  if not status or FINAL[status] then
    return 'final'
  end
  redis.call('HSET', rows, name, kind .. '\n' .. data .. '\n' .. raw)
  add(prefix, 'events', head .. data .. '}')
  return 'recorded'
end

--[[
hp3_record_thought entry thought type data raw head

The planner records a thought and replies to the executor; the same thought is recorded once.
  type, data  of the reply; the message is head .. data .. '}'
  raw         the model's words
Returns recorded | again (it was recorded) | final (the chain is over or gone). The entry is finished in each case.
]]
register('record_thought', function(keys, args)
  local prefix = prefix_of(keys)
  local status = record_thought(prefix, args[2], args[3], args[4], args[5], args[6])
  finish(prefix, 'plans', args[1])
  return status
end)
