-- An action's row (runtime/store/rows.py: ActionRow) and its receipt.

local NONE = '-' -- in place of an entry and of a token

-- The row as a table, with the status of its chain and the one to come; nil when there is none.
local function read_action(prefix, chain, name)
  local is = redis.call('HMGET', row(prefix, KEY.CHAIN, chain), name, HEAD.STATUS, HEAD.RESUME)
  if not is[1] then
    return nil, is[2], is[3]
  end
  local entry, epoch, attempt, repeatable, state, token = string.match(is[1], '^(%S+) (%d+) (%d+) (%d) (%S+) (%S+)$')
  return { entry = entry, epoch = tonumber(epoch), attempt = attempt, repeatable = repeatable, state = state,
    token = token }, is[2], is[3]
end

local function row_of(entry, epoch, attempt, repeatable, state, token)
  return entry .. ' ' .. epoch .. ' ' .. attempt .. ' ' .. repeatable .. ' ' .. state .. ' ' .. token
end

local function write_action(prefix, chain, name, ...)
  redis.call('HSET', row(prefix, KEY.CHAIN, chain), name, row_of(...))
end

-- Somebody began it, and its effects cannot be repeated.
local function is_in_doubt(action)
  return action.repeatable ~= '1' and (action.state == STATE.STARTED or action.state == STATE.IN_DOUBT)
end

local function has_receipt(prefix, chain, name)
  return redis.call('HEXISTS', row(prefix, KEY.DATA, chain), name .. '.' .. PART.RECEIPT) == 1
end

-- A receipt, or the doubt that takes its place, once; a doubt uses up the approval (G1). The first is told to a chain in this `status`,
-- unless it is over. Returns whether it is the first.
local function record(prefix, chain, name, status, in_doubt, outcome, data, message)
  local texts, kind = row(prefix, KEY.DATA, chain), in_doubt and KIND.IN_DOUBT or KIND.RECEIPT
  local first = redis.call('HSETNX', texts, name .. '.' .. PART.RECEIPT, kind .. '\n' .. outcome .. '\n' .. data) == 1
  if first and in_doubt then
    redis.call('HDEL', texts, name .. '.' .. PART.APPROVAL)
  end
  if first and status and not FINAL[status] then
    add(prefix, 'events', message, data)
  end
  return first
end

-- Add an entry's bytes to its stream anew, as an action's current entry at epoch 0. That it was started stays: whoever
-- claims what cannot be repeated has to see that a worker has begun it. The entry says so too, as its deliveries would:
-- its worker claims it before hooks, preview or a person are asked.
local function renew(prefix, stream, bytes, chain, name, action)
  if action and is_in_doubt(action) then
    bytes[#bytes + 1], bytes[#bytes + 2] = '__begun__', '1'
  end
  local entry = redis.call('XADD', prefix .. stream, '*', unpack(bytes))
  if action then
    redis.call('HSETNX', prefix .. 'sent', string.sub(stream, 7), entry) -- parked.lua: without "tools:"
    write_action(prefix, chain, name, entry, 0, action.attempt, action.repeatable, action.state, NONE)
  end
end
