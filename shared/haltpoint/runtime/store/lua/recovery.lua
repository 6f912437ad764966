-- When the history of a partition went backwards (R10): what processes still know of it is brought here.
--
--   lost       a hash: when it was found, what had been counted `before`, and what `after`; `groups`: names of groups that are gone
--   recalled   a hash by action: `attempt call` and on the next line the receipt, if it is known. It had been started, and the
--              partition does not know it. `call` is the SHA-1 of the field `call` of its data
--   recalled:<chain>:<call>  a set: which of these make this call. A model that is asked again may make it under another id
--   twice      a set: actions that were started once more before it was known that they had been
local KEPT = 31 * DAY / 1000 -- seconds

-- look term seq: how far a process has heard this partition count, in which term ('' for nothing). Returns 1 when the partition has
-- counted less than that: something is lost.
register('look', function(prefix, _, heard, seq)
  local after = 0
  note_time(prefix)
  if heard == '' then
    return 0
  end
  local list = redis.call('LRANGE', prefix .. TERMS, 0, -1)
  for i, term in ipairs(list) do
    if string.match(term, '^%d+') == heard then
      after = tonumber(string.match(list[i + 1] or '', '%d+$') or math.huge)
    end
  end
  if after >= tonumber(seq) then
    return 0
  end
  note_loss(prefix, tonumber(seq), after)
  return 1
end)

-- lose_group name: of a stream whose consumer group is gone, and with it what its readers had in hand. A group is named once.
register('lose_group', function(prefix, _, name)
  local seq = terms[prefix].seq
  if redis.call('EXISTS', prefix .. 'lost') == 0 then
    note_loss(prefix, seq, seq)
  end
  local groups = redis.call('HGET', prefix .. 'lost', 'groups') or ''
  if not string.find(', ' .. groups .. ',', ', ' .. name .. ',', 1, true) then
    redis.call('HSET', prefix .. 'lost', 'groups', groups == '' and name or groups .. ', ' .. name)
  end
  return 1
end)

local function alike(prefix, chain, call)
  return prefix .. 'recalled:' .. chain .. ':' .. call
end

-- Whether the partition knows that this attempt was started, and its receipt, if there is one.
local function is_known(prefix, action, chain, name, attempt, token, receipt)
  if not action or tonumber(action.attempt) < attempt then
    return false
  end
  return tonumber(action.attempt) > attempt or has_receipt(prefix, chain, name)
    or (receipt == '' and action.token == token)
end

-- recall [action attempt token call receipt]...
-- Actions with other effects that were started in an earlier term. What is not known of them is kept for `claim`. Returns how many
-- those are.
--   token    of the claim; '' where another process than its worker says so
--   receipt  kind, outcome and data, a line each; '' where none is known
register('recall', function(prefix, args)
  local key, count = prefix .. 'recalled', 0
  for i = 1, #args, 5 do
    local id, attempt, token, call, receipt = unpack(args, i, i + 4)
    local chain, name = split(id)
    local action = read_action(prefix, chain, name)
    if not is_known(prefix, action, chain, name, tonumber(attempt), token, receipt) then
      count = count + 1
      local kept = tonumber(string.match(redis.call('HGET', key, id) or '0', '^%d+'))
      if tonumber(attempt) > kept or (tonumber(attempt) == kept and receipt ~= '') then
        redis.call('HSET', key, id, attempt .. ' ' .. call .. '\n' .. receipt)
        redis.call('EXPIRE', key, KEPT)
        redis.call('SADD', alike(prefix, chain, call), id)
        redis.call('EXPIRE', alike(prefix, chain, call), KEPT)
      end
    end
    local again = action and action.attempt == attempt and action.state == STATE.STARTED
    if again and token ~= '' and action.token ~= token then
      redis.call('SADD', prefix .. 'twice', id)
      redis.call('EXPIRE', prefix .. 'twice', KEPT)
    end
  end
  return count
end)

-- miss chain...: they were accepted. Returns how many are not there; their ids are kept in the set `gone`.
register('miss', function(prefix, args)
  local count = 0
  for _, chain in ipairs(args) do
    if redis.call('EXISTS', row(prefix, KEY.CHAIN, chain)) == 0 then
      count = count + redis.call('SADD', prefix .. 'gone', chain)
      redis.call('EXPIRE', prefix .. 'gone', KEPT)
    end
  end
  return count
end)

-- accept_loss: a person has seen it. What was recalled still holds for claims. Returns 1 when there was a loss.
register('accept_loss', function(prefix)
  redis.call('DEL', prefix .. 'twice', prefix .. 'gone')
  return redis.call('DEL', prefix .. 'lost')
end)
