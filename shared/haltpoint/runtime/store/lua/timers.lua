-- fire_due limit again_in
-- Tell the chains whose timer has gone off, the earliest first, at most `limit`: expire their open requests that are due
-- and add timer.due. Each timer is set to now + again_in ms, so that it goes off again should the message get lost; the
-- executor's commit sets the true one. A timer without a living chain is removed. Thoughts that have rested go to the planner
-- again, unless their chain is over.
-- Returns {now, number of chains told}.

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
    if rest and lives(prefix, chain) then
      add(prefix, 'plans', string.match(rest, '\n(.*)$'))
    end
    redis.call('ZREM', prefix .. 'resting', thought)
  end
end

register('fire_due', function(prefix, _, limit, again_in)
  note_time(prefix)
  local at = now(prefix)
  local stamp = digits(at)
  local due = redis.call('ZRANGEBYSCORE', prefix .. 'timers', '-inf', stamp, 'LIMIT', 0, limit)
  local told = 0
  wake_thoughts(prefix, stamp, limit)
  for _, chain in ipairs(due) do
    local head = row(prefix, KEY.CHAIN, chain)
    local is = redis.call('HMGET', head, HEAD.STATUS, HEAD.OPEN, HEAD.TRACE)
    if not is[1] or FINAL[is[1]] then
      redis.call('ZREM', prefix .. 'timers', chain)
    else
      local expired = expire_requests(prefix, chain, head, is[2], at)
      add(prefix, 'events', envelope(chain .. '/due/' .. stamp, chain, 'timer.due',
        '{"at":' .. stamp .. ',"expired":[' .. table.concat(expired, ',') .. ']}', is[3]))
      redis.call('ZADD', prefix .. 'timers', digits(at + tonumber(again_in)), chain)
      told = told + 1
    end
  end
  return { at, told }
end)
