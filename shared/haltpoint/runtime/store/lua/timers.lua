--[[
hp3_fire_due limit again_in counted holds

Tell the chains whose timer has gone off, the earliest first, at most `limit`: expire their open requests that are due
and add timer.due. Each timer is set to now + again_in ms, so that it goes off again should the message get lost; the
executor's commit sets the true one. A timer without a living chain is removed. Thoughts that have rested go to the planner
again, unless their chain is over.
  counted  the server's clock (ms), as the executor has counted on by its own since the last look; 0: it has not
  holds    '1': what the clock is off from that is no time that has passed, and deadlines do not see it. Else nothing is done then,
           as `counted` may be old: it is called again at once. When no chain lives the server's clock counts again
Returns {now, number of chains told, the clock, ms by which it has jumped}.
]]

-- The ids of a chain's questions that are due, as JSON strings; those that are open expire.
local function expire_requests(prefix, chain, head, open, at)
  local expired = {}
  for number in string.gmatch(open or '', '%d+') do
    local name = 'r' .. number
    local state = redis.call('HGET', head, name)
    local deadline = state and string.match(state, '^open (%d+)$')
    if deadline and tonumber(deadline) <= at then
      state = 'expired ' .. deadline
      redis.call('HSET', head, name, state)
      redis.call('ZREM', prefix .. 'index:requests', chain .. '.' .. name)
    end
    if state and string.match(state, '^expired') then
      expired[#expired + 1] = '"' .. chain .. '.' .. name .. '"'
    end
  end
  return expired
end

local function wake_thoughts(prefix, stamp, limit)
  local due = redis.call('ZRANGEBYSCORE', prefix .. 'resting', '-inf', stamp, 'LIMIT', 0, limit)
  for _, thought in ipairs(due) do
    local chain, name = split(thought)
    local rest = redis.call('HGET', row(prefix, KEY.DATA, chain), name .. '.' .. PART.REST)
    if rest and not is_final(prefix, chain) then
      add(prefix, 'plans', string.match(rest, '\n(.*)$'))
    end
    redis.call('ZREM', prefix .. 'resting', thought)
  end
end

-- By how much the server's clock is off from what was counted: 0 when that is no jump.
local function jump_from(prefix, counted)
  local off = steady_now(prefix) - counted
  return counted > 0 and math.abs(off) > JUMP and off or 0
end

register('fire_due', function(keys, args)
  local prefix = prefix_of(keys)
  local jump = jump_from(prefix, tonumber(args[3]))
  if jump ~= 0 and args[4] ~= '1' then
    return { now(prefix), 0, steady_now(prefix), jump }
  elseif jump ~= 0 then
    redis.call('INCRBY', prefix .. 'held', digits(-jump))
  elseif redis.call('EXISTS', prefix .. 'timers') == 0 then
    redis.call('DEL', prefix .. 'held')
  end
  looked[prefix] = real_now()
  local at = now(prefix)
  local stamp = digits(at)
  local due = redis.call('ZRANGEBYSCORE', prefix .. 'timers', '-inf', stamp, 'LIMIT', 0, args[1])
  local told = 0
  wake_thoughts(prefix, stamp, args[1])
  for _, chain in ipairs(due) do
    local head = row(prefix, KEY.CHAIN, chain)
    local is = redis.call('HMGET', head, HEAD.STATUS, HEAD.OPEN, HEAD.TRACE)
    if not is[1] or FINAL[is[1]] then
      redis.call('ZREM', prefix .. 'timers', chain)
    else
      local expired = expire_requests(prefix, chain, head, is[2], at)
      add(prefix, 'events', envelope(chain .. '/due/' .. stamp, chain, 'timer.due',
        '{"at":' .. stamp .. ',"expired":[' .. table.concat(expired, ',') .. ']}', is[3]))
      redis.call('ZADD', prefix .. 'timers', digits(at + tonumber(args[2])), chain)
      told = told + 1
    end
  end
  return { at, told, steady_now(prefix), jump }
end)
