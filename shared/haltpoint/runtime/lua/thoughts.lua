-- Returns recorded | again | final; only the first writes.
local function record_thought(prefix, thought, kind, data, raw, head, retention)
  local key = prefix .. 'thought:' .. thought
  if redis.call('EXISTS', key) == 1 then
    return 'again'
  end
  local chain = redis.call('HMGET', prefix .. 'chain:' .. chain_of(thought), 'status', 'deadline')
  if not chain[1] or FINAL[chain[1]] then
    return 'final'
  end
  redis.call('HSET', key, 'type', kind, 'data', data, 'raw', raw)
  local left = math.max(0, tonumber(chain[2]) - now(prefix))
  redis.call('PEXPIRE', key, digits(left + tonumber(retention) * 1000))
  add(prefix, 'events', head .. data .. '}')
  return 'recorded'
end

--[[
hp1_think entry thought type data raw head retention

The planner records a thought and replies to the executor; the same thought is recorded once.
  type, data  of the reply; the message is head .. data .. '}'
  raw         the model's words
  retention   s that the thought outlives its chain's deadline by: a chain does not know all its thoughts
Returns recorded | again (it was recorded) | final (the chain is over or gone). The entry is finished in each case.
]]
register('think', function(keys, args)
  local prefix = prefix_of(keys)
  local status = record_thought(prefix, args[2], args[3], args[4], args[5], args[6], args[7])
  finish(prefix, 'plans', args[1])
  return status
end)
