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
