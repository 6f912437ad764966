-- What all workers together keep to (CONTRACT E6). The limits of a queue's tools are in the partition of the queue's name,
-- so that one call here looks at all of them; the times are those that deadlines live in, in ms. Their keys:
--
--   limit:<name>           of a rate: when the next call would begin if all were evenly spaced, and when the next one that
--                          rests may come back; of `at_once`: how long a call takes (ms), and the same
--   limit:<name>:places    of `at_once`: the calls that have a place, by when it ends unless it is renewed
--   resting:<queue>        calls that rest, by when they come back; resting:<queue>:why says for which limit

local FIRST_GUESS = 100 -- ms that a call takes, while none has ended
local LATE = 30000 -- ms after which a call that has not come back has lost its place in the line

-- Milliseconds with their fraction: rates may be faster than one call a ms.
local function precise_now(prefix)
  local t = redis.call('TIME')
  return now(prefix) + tonumber(t[2]) % 1000 / 1000
end

local function read_pair(key)
  local first, second = string.match(redis.call('GET', key) or '', '^(%S+) (%S+)$')
  return tonumber(first), tonumber(second) or 0
end

local function write_pair(key, first, second, keep)
  redis.call('SET', key, string.format('%.3f %.3f', first, second), 'PX', digits(math.max(1, math.ceil(keep))))
end

-- Each kind of limit: `look` says when a call may begin (`start`), and when it would come back if it had to stand in
-- line (`back`); `line_up` notes that it does, `take` that it begins.
local kinds = { rate_limit = {}, at_once = {} }

function kinds.rate_limit.look(limit, at, _)
  local spaced, line = read_pair(limit.key)
  limit.spaced, limit.line = math.max(spaced or 0, at), line
  limit.start = math.max(at, (spaced or 0) - (limit.size - 1) * limit.every)
  limit.back = math.max(limit.start, limit.line)
end

function kinds.rate_limit.line_up(limit, at)
  local line = limit.back + limit.every
  write_pair(limit.key, limit.spaced, line, math.max(limit.spaced, line) - at)
end

function kinds.rate_limit.take(limit, at)
  local spaced = limit.spaced + limit.every
  write_pair(limit.key, spaced, limit.line, math.max(spaced, limit.line) - at)
end

function kinds.at_once.look(limit, at, caller)
  limit.places = limit.key .. ':places'
  redis.call('ZREMRANGEBYSCORE', limit.places, '-inf', digits(at))
  limit.duration, limit.line = read_pair(limit.key)
  local free = redis.call('ZCARD', limit.places) < limit.size or redis.call('ZSCORE', limit.places, caller)
  limit.start = free and at or math.huge
  limit.back = math.max(at, limit.line) + (limit.duration or FIRST_GUESS) / limit.size
end

function kinds.at_once.line_up(limit, at)
  write_pair(limit.key, limit.duration or FIRST_GUESS, limit.back, limit.back - at + DAY)
end

function kinds.at_once.take(limit, at, caller, lease)
  redis.call('ZADD', limit.places, digits(at + lease), caller)
  redis.call('PEXPIRE', limit.places, digits(2 * lease))
end

-- One more that rests; those that never came back are forgotten, a few at a time.
local function rest(prefix, queue, action, back, words, at)
  local resting = prefix .. 'resting:' .. queue
  redis.call('ZADD', resting, digits(back), action)
  redis.call('HSET', resting .. ':why', action, words)
  local gone = redis.call('ZRANGEBYSCORE', resting, '-inf', digits(at - LATE), 'LIMIT', 0, 20)
  if gone[1] then
    redis.call('ZREM', resting, unpack(gone))
    redis.call('HDEL', resting .. ':why', unpack(gone))
  end
  local last = redis.call('ZREVRANGE', resting, 0, 0, 'WITHSCORES')
  local keep = digits(math.max(tonumber(last[2]) - at, 0) + DAY)
  redis.call('PEXPIRE', resting, keep)
  redis.call('PEXPIRE', resting .. ':why', keep)
end

-- reserve queue action caller patience lease deadline [kind name every size words]...
-- May this call begin now, by its limits, all together? What it needs is taken, or nothing is.
-- A repeat of this function may cost a rate one call.
--   caller    the action in the hands of one worker: other deliveries of it are other callers
--   patience  ms that a worker waits for a call's moment by itself
--   lease     ms that a place of `at_once` is kept unless it is renewed
--   deadline  of the call (ms): who would come back too late for it rests too, and does not stand in line
--   every     ms between two calls of a rate; size: its burst, or how many calls at once
-- Who comes back from a rest goes before those who come for the first time: these stand behind all that rest.
-- Returns {status, ms, words}:
--   go     begin in so many ms
--   rest   come back in so many ms; words: what for
register('reserve', function(prefix, args, queue, action, caller, patience, lease, deadline)
  local at = precise_now(prefix)
  local resting = prefix .. 'resting:' .. queue
  local returns = redis.call('ZSCORE', resting, action)
  local start, all = at, {}
  for i = 7, #args, 5 do
    local limit = { key = prefix .. 'limit:' .. args[i + 1], every = tonumber(args[i + 2]),
      size = tonumber(args[i + 3]), words = args[i + 4], kind = kinds[args[i]] }
    limit.kind.look(limit, at, caller)
    start = math.max(start, limit.start)
    all[#all + 1] = limit
  end
  local last -- the limit that holds the call back for longest
  for _, limit in ipairs(all) do
    local held = limit.start > at + tonumber(patience) or (not returns and limit.line > at)
    if held and not (last and last.back > limit.back) then
      last = limit
    end
  end
  if last then
    if last.back + tonumber(patience) < tonumber(deadline) then
      last.kind.line_up(last, at)
    end
    rest(prefix, queue, action, last.back, last.words, at)
    return { 'rest', math.ceil(last.back - at), last.words }
  end
  for _, limit in ipairs(all) do
    limit.kind.take(limit, at, caller, tonumber(lease))
  end
  if returns then
    redis.call('ZREM', resting, action)
    redis.call('HDEL', resting .. ':why', action)
  end
  return { 'go', math.ceil(start - at), '' }
end)

-- rest queue action ms words: a call comes back in so many ms, because of something else than the queue's own limits: people see it too.
register('rest', function(prefix, _, queue, action, ms, words)
  local at = precise_now(prefix)
  rest(prefix, queue, action, at + tonumber(ms), words, at)
  return 1
end)

-- renew lease [name caller]...: keep the places of `at_once` that these calls have for so many ms more. Returns how many had none any
-- more.
register('renew', function(prefix, args, lease)
  local ends, lost = digits(precise_now(prefix) + lease), 0
  for i = 2, #args, 2 do
    local places = prefix .. 'limit:' .. args[i] .. ':places'
    if redis.call('ZSCORE', places, args[i + 1]) then
      redis.call('ZADD', places, 'XX', ends, args[i + 1])
      redis.call('PEXPIRE', places, digits(2 * lease))
    else
      lost = lost + 1
    end
  end
  return lost
end)

-- give_back caller duration [name]...: a call has ended after so many ms: its places of `at_once` are free. Returns how many it had.
register('give_back', function(prefix, args, caller, took)
  local had = 0
  for i = 3, #args do
    local key = prefix .. 'limit:' .. args[i]
    if redis.call('ZREM', key .. ':places', caller) == 1 then
      local duration, line = read_pair(key)
      duration = duration and 0.8 * duration + 0.2 * took or took
      write_pair(key, duration, line, DAY)
      had = had + 1
    end
  end
  return had
end)
