--[[
hp3_lease owner ttl

Take or renew the executor's lease of this partition for `ttl` ms of real time; 0 gives it up.
Returns who holds it afterwards, '' for nobody.
]]
register('lease', function(keys, args)
  local prefix = prefix_of(keys)
  local key, ttl = prefix .. 'owner', tonumber(args[2])
  local holder = redis.call('GET', key) or ''
  if ttl == 0 then
    if holder == args[1] then
      redis.call('DEL', key)
      holder = ''
    end
  elseif holder == '' or holder == args[1] then
    redis.call('SET', key, args[1], 'PX', args[2])
    holder = args[1]
  end
  return holder
end)

--[[
hp3_hand_back stream consumer lease entry...

Make entries that this consumer read and did not begin look idle for `lease` ms, so that whoever looks next takes them;
counts no delivery. One that another consumer has taken meanwhile is left alone. Returns how many were handed back.
]]
register('hand_back', function(keys, args)
  local prefix, stream, consumer = prefix_of(keys), args[1], args[2]
  local count = 0
  for i = 4, #args do
    if holder_of(prefix, stream, args[i]) == consumer then
      redis.call('XCLAIM', prefix .. stream, group_of(stream), consumer, 0, args[i], 'IDLE', args[3], 'JUSTID')
      count = count + 1
    end
  end
  return count
end)

--[[
hp3_announce [name spec]...

A tool worker says which tools it serves, spec as JSON. They are in the catalogue for a day after the last announcement, in real
time; older ones are removed here. Returns the time in ms.
]]
register('announce', function(keys, args)
  local key = prefix_of(keys) .. 'catalogue'
  local at = real_now()
  local stamp = digits(at)
  for i = 1, #args, 2 do
    redis.call('HSET', key, args[i], '{"spec":' .. args[i + 1] .. ',"seen":' .. stamp .. '}')
  end
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local seen = tonumber(string.match(all[i + 1], '"seen":(%d+)}$') or 0)
    if seen < at - DAY then
      redis.call('HDEL', key, all[i])
    end
  end
  return at
end)
