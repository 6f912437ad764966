-- Chains in which nothing moves (R11): something else than these functions has removed a message, or a timer. `find_parked` finds them,
-- and `move_parked` tells them what they wait for, unless they have changed in between.
--
--   sent  a hash: each queue to which a call was sent, and the first entry there
local PAGE = 500 -- chains of a look
local FIELDS = 10000 -- values in their heads, after which a look ends too
local MESSAGES, ROOM = 5000, 2 ^ 25 -- under way, and bytes of them, that a look goes through
local LETTERS = 1000 -- the newest, that it goes through
local NEWER = 'unknown_version' -- a dead letter that another release reads: its chain goes on waiting

-- The chains that a message in a stream, a thought that rests or a letter for another release is about; nil: there are too many to go
-- through, so much is under way.
local function heard_of(prefix)
  local chains, room = {}, ROOM
  if redis.call('XLEN', prefix .. 'events') + redis.call('XLEN', prefix .. 'plans') > MESSAGES then
    return nil
  end
  for _, letter in ipairs(redis.call('XREVRANGE', prefix .. 'dead', '+', '-', 'COUNT', LETTERS)) do
    if letter[2][6] == NEWER then
      chains[letter[2][10]] = true
    end
  end
  for _, stream in ipairs({ 'events', 'plans' }) do
    local last = '+'
    while last do
      local page = redis.call('XREVRANGE', prefix .. stream, last, '-', 'COUNT', 20)
      last = page[1] and '(' .. page[#page][1]
      for _, entry in ipairs(page) do
        local fields = entry[2]
        chains[string.match(fields[2], '"subject":"([^"]*)"') or ''] = true
        for _, text in ipairs(fields) do
          room = room - #text
        end
      end
      if room < 0 then
        return nil
      end
    end
  end
  for _, thought in ipairs(redis.call('ZRANGE', prefix .. 'resting', 0, -1)) do
    chains[split(thought)] = true
  end
  return chains
end

-- The queues, and the time of the first entry that is known to be in one of them.
local function read_queues(prefix)
  local names, since = {}, math.huge
  local fields = redis.call('HGETALL', prefix .. 'sent')
  for i = 1, #fields, 2 do
    names[#names + 1] = 'tools:' .. fields[i]
    since = math.min(since, tonumber(string.match(fields[i + 1], '^%d+')))
  end
  return { names = names, since = since }
end

-- Whether an entry is in a queue, or in a worker's hands, or may be in a queue that is not known.
local function is_there(prefix, entry, queues)
  if tonumber(string.match(entry, '^%d+')) < queues.since then
    return true
  end
  for _, stream in ipairs(queues.names) do
    local pending = redis.pcall('XPENDING', prefix .. stream, WORKERS, entry, entry, 1) -- it may have no group any more
    if pending[1] or fields_of(prefix, stream, entry) then
      return true
    end
  end
  return false
end

-- Whether a person or a moment before the deadline is to come: a question is open, or the timer is an earlier one.
local function waits(prefix, chain, due, deadline, open)
  for number in string.gmatch(open, '%d+') do
    local state = redis.call('HGET', row(prefix, KEY.CHAIN, chain), 'r' .. number)
    if state ~= 'answered' and state ~= 'withdrawn' then
      return true
    end
  end
  return open == '' and tonumber(due) ~= tonumber(deadline)
end

-- Whether a call is under way: `text` is the row of an action.
local function is_call(prefix, chain, name, text, queues)
  local entry, state = string.match(text, '^(%S+) %d+ %d+ %d (%S+) %S+$')
  if state == STATE.CHILD then
    return lives(prefix, chain .. '~' .. string.gsub(name, '^(.+)%.(%d+)$', '%1-%2'))
  end
  return entry and entry ~= NONE and not has_receipt(prefix, chain, name) and is_there(prefix, entry, queues)
end

local function has_call(prefix, chain, fields, queues)
  for i = #fields - 1, 1, -2 do
    local is_action = string.find(fields[i], '.', 1, true)
    if is_action and is_call(prefix, chain, fields[i], fields[i + 1], queues) then
      return true
    end
  end
  return false
end

-- Living chains from a place on, by their states.
local function living(prefix, place)
  local page = {}
  for _, status in ipairs(LIVE) do
    local index = prefix .. 'index:status:' .. status
    if #page < PAGE then
      for _, chain in ipairs(redis.call('ZRANGE', index, place, place + PAGE - #page - 1)) do
        page[#page + 1] = chain
      end
    end
    place = math.max(0, place - redis.call('ZCARD', index))
  end
  return page
end

-- find_parked place quiet: look at the next living chains that have not changed for `quiet` ms. A chain without a timer gets one.
-- Returns {place of the next look, chain, version, chain, version...}: of the chains in which nothing moves. Place 0: all have been
-- looked at.
register('find_parked', function(prefix, _, from, quiet)
  local at, place = now(prefix), tonumber(from)
  local page, queues, left, heard = living(prefix, place), read_queues(prefix), FIELDS, nil
  local reply = { #page < PAGE and 0 or place + PAGE }
  for n, chain in ipairs(page) do
    local head = row(prefix, KEY.CHAIN, chain)
    local version, updated, deadline, open = unpack(
      redis.call('HMGET', head, HEAD.VERSION, HEAD.UPDATED, HEAD.DEADLINE, HEAD.OPEN))
    local is_quiet = version and tonumber(updated) < at - tonumber(quiet)
    local due = is_quiet and redis.call('ZSCORE', prefix .. 'timers', chain)
    if is_quiet and not due then
      redis.call('ZADD', prefix .. 'timers', digits(at), chain)
    elseif is_quiet and not waits(prefix, chain, due, deadline, open or '') then
      local fields = redis.call('HGETALL', head)
      left = left - #fields
      if not has_call(prefix, chain, fields, queues) then
        heard = heard or heard_of(prefix)
        if not heard then
          return { place + n }
        elseif not heard[chain] then
          reply[#reply + 1], reply[#reply + 2] = chain, version
        end
      end
    end
    if left < 0 then
      reply[1] = place + n
      break
    end
  end
  return reply
end)

-- move_parked chain version [action]...: tell a chain in which nothing moves what it waits for, unless it has another version by now:
-- each answer and each result that is on record once more, of the other `action`s that their messages are lost. If it waits for none of
-- these, what it does wait for is lost. Returns 1 when it was told.
register('move_parked', function(prefix, args, chain, seen)
  local data, why = row(prefix, KEY.DATA, chain), 'it was removed from the server'
  local version, open, trace = unpack(redis.call('HMGET', row(prefix, KEY.CHAIN, chain), HEAD.VERSION, HEAD.OPEN, HEAD.TRACE))
  local messages = {}
  if version ~= seen then
    return 0
  end
  for number in string.gmatch(open or '', '%d+') do
    local request = 'r' .. number
    local at, answer, way, by = string.match(redis.call('HGET', data, request .. '.' .. PART.ANSWER) or '',
      '^(%d+)\n[^\n]*\n([^\n]*)\n([^\n]*)\n(.*)$')
    if at then
      local id = chain .. '.' .. request
      messages[#messages + 1] = { envelope(id .. '/answer', chain, 'human.answered', '{"request_id":"' .. id .. '","way":"' .. way
        .. '","answer":' .. answer .. ',"by":' .. cjson.encode(by) .. ',"at":' .. at .. '}', trace) }
    end
  end
  for i = 3, #args do
    local action, id = read_action(prefix, chain, args[i]), chain .. '.' .. args[i]
    local report = id .. (action.state == STATE.CHILD and '/child' or '/' .. action.attempt) .. '/done'
    local outcome, body = string.match(redis.call('HGET', data, args[i] .. '.' .. PART.RECEIPT) or '', '^%S+\n([^\n]*)\n(.*)$')
    local told = outcome and envelope(report, chain, 'tool.completed',
      '{"action_id":"' .. id .. '","outcome":' .. outcome .. '}', trace)
    messages[#messages + 1] = { told or lost(report, chain, why, trace), body }
  end
  messages[1] = messages[1] or { lost(chain .. '/next', chain, why, trace) }
  for _, message in ipairs(messages) do
    add(prefix, 'events', unpack(message))
  end
  return 1
end)
