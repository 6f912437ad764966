--[[
hp3_apply_agents digest text keep

Make this version of the agents file, as JSON, the one that counts for chains that begin from now on; on partition 0 only. The one
that it replaces can be read for `keep` s more: by then the last chain that keeps it is over.
Returns applied | again (it is this one already).
]]
register('apply_agents', function(keys, args)
  local key = prefix_of(keys) .. 'agents'
  local before = redis.call('GET', key)
  redis.call('SET', key .. ':' .. args[1], args[2])
  if before == args[1] then
    return 'again'
  end
  redis.call('SET', key, args[1])
  if before then
    redis.call('EXPIRE', key .. ':' .. before, args[3])
  end
  return 'applied'
end)

--[[
The places of agents that work on so many chains at once, in the partition of the agent's own name:

  agent:<name>   the chains that have one, by when it was taken (ms); each is given back when its chain is over
  agents:counted   the names of the agents that have such a key here

hp3_take_place agent chain capacity

Take a place for a chain that is about to begin; one that it has it keeps. Capacity 0: there is no limit.
Returns how many others have one, or -1: there is no room.
]]
register('take_place', function(keys, args)
  local prefix, chain, most = prefix_of(keys), args[2], tonumber(args[3])
  local key = prefix .. 'agent:' .. args[1]
  local others = redis.call('ZCARD', key)
  if redis.call('ZSCORE', key, chain) then
    return others - 1
  elseif most > 0 and others >= most then
    return -1
  end
  redis.call('ZADD', key, digits(real_now()), chain)
  redis.call('SADD', prefix .. 'agents:counted', args[1])
  return others
end)

--[[
hp3_free_places agent chain...

These chains are over: their places are free. Returns how many had one.
]]
register('free_places', function(keys, args)
  local prefix, had = prefix_of(keys), 0
  local key = prefix .. 'agent:' .. args[1]
  for n = 2, #args do
    had = had + redis.call('ZREM', key, args[n])
  end
  if redis.call('EXISTS', key) == 0 then
    redis.call('SREM', prefix .. 'agents:counted', args[1])
  end
  return had
end)
