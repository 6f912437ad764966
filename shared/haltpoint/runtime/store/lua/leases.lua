-- lease owner ttl: take or renew the executor's lease of this partition for `ttl` ms of real time; 0 gives it up.
-- Returns who holds it afterwards, '' for nobody.
register('lease', function(prefix, _, owner, ttl)
  local key = prefix .. 'owner'
  local holder = redis.call('GET', key) or owner
  if holder ~= owner then
    return holder
  elseif ttl == '0' then
    redis.call('DEL', key)
    return ''
  end
  redis.call('SET', key, owner, 'PX', ttl)
  return owner
end)

-- hand_back stream consumer lease entry...: make entries that this consumer read and did not begin look idle for `lease` ms, so that
-- the next reader takes them; this counts no delivery. An entry that another consumer has taken meanwhile stays there. Returns how many were
-- handed back.
register('hand_back', function(prefix, args, stream, consumer, lease)
  local count = 0
  for i = 4, #args do
    if holder_of(prefix, stream, args[i]) == consumer then
      redis.call('XCLAIM', prefix .. stream, group_of(stream), consumer, 0, args[i], 'IDLE', lease, 'JUSTID')
      count = count + 1
    end
  end
  return count
end)

-- announce [name spec]...: a tool worker says which tools it serves, spec as JSON. They are in the catalogue for a day after the last
-- announcement, in real time; older ones are removed here. Returns the time in ms.
register('announce', function(prefix, args)
  local key, at = prefix .. 'catalogue', real_now()
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
