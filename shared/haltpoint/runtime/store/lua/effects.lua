-- Effects that happen once, whichever chain asks for them (CONTRACT E6): `effect_key` of a tool. A record is in the
-- partition of its own key, `effect:<digest>`, a hash:
--
--   owner, n     the action that it is reserved for, and the number of that reservation, which no other ever has
--   state        reserved, or done
--   at, until    when it was reserved, and when that call cannot run any more unless its worker renews its lease (ms)
--   says         the line of the deed, when it is done
--   before       a former record, which a person allowed to be repeated: MessagePack of its fields
--
-- What is reserved is freed or done by its owner's worker after the receipt. Should that get lost, the receipt still says
-- it: who wants the key next looks at the owner's chain (runtime/store/limits/effects.py), which is in another
-- partition. So it names the `n` that it has judged, and another reservation meanwhile makes the judgement void. The key
-- `effects` counts them for the whole partition: a count of its own would begin anew with each record.

local RESERVED, DONE = 'reserved', 'done'

local function read_effect(key)
  local is = redis.call('HMGET', key, 'owner', 'n', 'state', 'at', 'until', 'says')
  return is[1] and { owner = is[1], n = is[2], state = is[3], at = is[4], ['until'] = is[5], says = is[6] or '' }
end

local function next_number(prefix)
  return redis.call('INCR', prefix .. 'effects')
end

-- Put the record back that the present one repeats; nil when it repeats none.
local function restore(prefix, key)
  local before = redis.call('HGET', key, 'before')
  if before then
    local former = cmsgpack.unpack(before)
    redis.call('HSET', key, 'owner', former.owner, 'n', next_number(prefix), 'state', former.state, 'at', former.at,
      'until', former['until'], 'says', former.says)
    redis.call('HDEL', key, 'before')
  end
  return before
end

-- reserve_effect digest action judged keep run ttl
-- Reserve an effect for an action: when it is free, is the action's own, or is at its `judged`-th reservation, which the
-- caller knows to be over ('' otherwise). keep '1': that one has happened, or may have, and a person allows it once more.
--   run  ms that the call may take, its worker's lease included;  ttl  ms that the record is kept after them
-- What is over and was a repeat that a person allowed gives way to what it repeated: that has happened.
-- Returns {1, n}, or {0}: it is another's, or may be, as this server is new here (recovery.lua).
register('reserve_effect', function(prefix, _, digest, action, judged, keep, run, ttl)
  if is_recovering(prefix) then
    return { 0 }
  end
  local at, key = real_now(), prefix .. 'effect:' .. digest
  local is = read_effect(key)
  local before
  if is and is.owner ~= action then
    if is.n ~= judged or (keep ~= '1' and restore(prefix, key)) then
      return { 0 }
    end
    before = keep == '1' and cmsgpack.pack(is)
  end
  local n = next_number(prefix)
  redis.call('HSET', key, 'owner', action, 'n', n, 'state', RESERVED, 'at', digits(at), 'until', digits(at + tonumber(run)), 'says', '')
  if before then
    redis.call('HSET', key, 'before', before)
  end
  redis.call('PEXPIRE', key, digits(tonumber(run) + tonumber(ttl)))
  return { 1, n }
end)

-- recall_effect digest action state says ttl: an effect that was reserved in an earlier term, and that the partition may have lost.
-- Returns 1 when it had, 0 when there is a record.
register('recall_effect', function(prefix, _, digest, action, state, says, ttl)
  local key, at = prefix .. 'effect:' .. digest, digits(real_now())
  if redis.call('EXISTS', key) == 1 then
    return 0
  end
  redis.call('HSET', key, 'owner', action, 'n', next_number(prefix), 'state', state, 'at', at, 'until', at, 'says', says)
  redis.call('PEXPIRE', key, ttl)
  return 1
end)

-- settle_effect digest action n state says ttl: the effect that was reserved for this action (at this `n`; '' for whichever) is `done`,
-- in these words, or `free`: it is known not to have happened. A former one that a person had allowed to be repeated is on record again
-- then. Returns 1, or 0: it is not the action's.
register('settle_effect', function(prefix, _, digest, action, n, state, says, ttl)
  local key = prefix .. 'effect:' .. digest
  local is = read_effect(key)
  if not is or is.owner ~= action or (n ~= '' and is.n ~= n) then
    return 0
  end
  if state == DONE then
    redis.call('HSET', key, 'state', DONE, 'says', says)
    redis.call('HDEL', key, 'before')
    redis.call('PEXPIRE', key, ttl)
  elseif not restore(prefix, key) then
    redis.call('DEL', key)
  end
  return 1
end)
