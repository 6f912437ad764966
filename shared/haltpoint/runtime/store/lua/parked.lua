--[[
hp3_parked place quiet [queue]...

Look at the next living chains for those in which nothing moves (R11): no message of theirs is in a stream, none waits for its
model, no other chain works for them, no question is open, and no other release has a dead letter of theirs. So it is not a
matter of time, and no call that runs is among them. A chain without a timer gets one.
  place  where the last look ended, 0 at first
  quiet  ms for which a chain has not changed
  queue  of tools; each that was ever named counts
Returns {place of the next look, chain...}; place 0: all have been looked at.
]]
local PAGE, LONGEST = 500, 1000 -- chains of a look; entries of a stream that are looked through
local NEWER = 'unknown_version'

-- The chains that something in these streams is about; nil when there is too much to look through.
local function heard_of(prefix)
  local chains = {}
  for _, stream in ipairs({ 'events', 'plans' }) do
    if redis.call('XLEN', prefix .. stream) > LONGEST then
      return nil
    end
    for _, entry in ipairs(redis.call('XRANGE', prefix .. stream, '-', '+')) do
      chains[string.match(table.concat(entry[2], ' '), '"subject":"([^"]*)"') or ''] = true
    end
  end
  for _, thought in ipairs(redis.call('ZRANGE', prefix .. 'resting', 0, -1)) do
    chains[split(thought)] = true
  end
  for _, letter in ipairs(redis.call('XRANGE', prefix .. 'dead', '-', '+', 'COUNT', LONGEST)) do
    if letter[2][6] == NEWER then
      chains[letter[2][10]] = true
    end
  end
  return chains
end

-- Whether a field of a chain's head is an open question, a call that is in a queue, or one that another chain carries out.
local function moves(prefix, chain, name, text, queues)
  local entry, state = string.match(text, '^(%S+) %d+ %d+ %d (%S+) %S+$')
  if state == STATE.CHILD then
    local step, number = string.match(name, '^(.+)%.(%d+)$')
    local status = redis.call('HGET', row(prefix, KEY.CHAIN, chain .. '~' .. step .. '-' .. number), HEAD.STATUS)
    return status and not FINAL[status]
  end
  for _, queue in ipairs(entry and entry ~= NONE and queues or {}) do
    if redis.call('XRANGE', prefix .. 'tools:' .. queue, entry, entry)[1] then
      return true
    end
  end
  return string.match(text, '^open %d+$')
end

local function is_parked(prefix, chain, queues)
  local fields = redis.call('HGETALL', row(prefix, KEY.CHAIN, chain))
  for i = 1, #fields, 2 do
    if moves(prefix, chain, fields[i], fields[i + 1], queues) then
      return false
    end
  end
  return true
end

-- Living chains from a place on, by their states, and the place behind them.
local function living(prefix, place)
  local first = place
  for _, status in ipairs(LIVE) do
    local index = prefix .. 'index:status:' .. status
    local count = redis.call('ZCARD', index)
    if first < count then
      local page = redis.call('ZRANGE', index, first, first + PAGE - 1)
      return page, place + #page
    end
    first = first - count
  end
  return {}, 0
end

register('parked', function(keys, args)
  local prefix, at = prefix_of(keys), now(prefix_of(keys))
  local page, following = living(prefix, tonumber(args[1]))
  local reply, heard = { following }, nil
  for i = 3, #args do
    redis.call('SADD', prefix .. 'queues', args[i])
  end
  for _, chain in ipairs(page) do
    if not redis.call('ZSCORE', prefix .. 'timers', chain) then
      redis.call('ZADD', prefix .. 'timers', digits(at), chain)
    end
    local is = redis.call('HMGET', row(prefix, KEY.CHAIN, chain), HEAD.VERSION, HEAD.UPDATED)
    if is[1] and tonumber(is[2]) < at - tonumber(args[2]) then
      heard = heard or heard_of(prefix) or { all = true }
      local queues = redis.call('SMEMBERS', prefix .. 'queues')
      if not heard.all and not heard[chain] and is_parked(prefix, chain, queues) then
        reply[#reply + 1] = chain
      end
    end
  end
  return reply
end)
