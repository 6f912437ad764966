--[[
hp1_fire_due limit again_in

Tell the chains whose timer has gone off, the earliest first, at most `limit`: expire their open requests that are due
and add timer.due. Each timer is set to now + again_in ms, so that it goes off again should the message get lost; the
executor's commit sets the true one. A timer without a living chain is removed.
Returns {now, number of chains told}.
]]
register('fire_due', function(keys, args)
  local prefix = prefix_of(keys)
  local at = now(prefix)
  local stamp = digits(at)
  local due = redis.call('ZRANGEBYSCORE', prefix .. 'timers', '-inf', stamp, 'LIMIT', 0, args[1])
  local told = 0
  for _, chain in ipairs(due) do
    local is = redis.call('HMGET', prefix .. 'chain:' .. chain, 'status', 'open', 'trace')
    if not is[1] or FINAL[is[1]] then
      redis.call('ZREM', prefix .. 'timers', chain)
    else
      local expired = {}
      for number in string.gmatch(is[2] or '', '%d+') do
        local id = chain .. '.r' .. number
        local request = redis.call('HMGET', prefix .. 'request:' .. id, 'status', 'deadline')
        if request[1] == 'open' and tonumber(request[2]) <= at then
          redis.call('HSET', prefix .. 'request:' .. id, 'status', 'expired')
          redis.call('ZREM', prefix .. 'index:requests', id)
        end
        if request[1] == 'expired' or (request[1] == 'open' and tonumber(request[2]) <= at) then
          expired[#expired + 1] = '"' .. id .. '"'
        end
      end
      local trace = (is[3] and is[3] ~= '') and ('"traceparent":"' .. is[3] .. '",') or ''
      add(prefix, 'events', '{"specversion":"1.0","id":"' .. chain .. '/due/' .. stamp
        .. '","source":"haltpoint/executor","subject":"' .. chain .. '",' .. trace
        .. '"type":"timer.due.v1","data":{"at":' .. stamp .. ',"expired":[' .. table.concat(expired, ',') .. ']}}')
      redis.call('ZADD', prefix .. 'timers', digits(at + tonumber(args[2])), chain)
      told = told + 1
    end
  end
  return { at, told }
end)
