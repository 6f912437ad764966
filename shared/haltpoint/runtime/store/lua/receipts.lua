-- What workers do to actions. An action's row says which entry is its current one; its epoch counts the claims of that
-- entry. (entry, epoch) is the fence: a worker with another pair has lost the action.

-- Whether an action still has this fence.
local function holds(action, entry, epoch)
  return action and action.entry == entry and action.epoch == tonumber(epoch)
end

-- Whether a person's yes to this very call is on record, in time; the first that needs it uses it up (G1).
local function consume_approval(prefix, chain, name, digest)
  local data, field = row(prefix, KEY.DATA, chain), name .. '.' .. PART.APPROVAL
  local approved, deadline, state, by = string.match(redis.call('HGET', data, field) or '', '^(%S+) (%d+) (%S+)\n(.*)$')
  if not approved then
    return 'unapproved'
  end
  if approved ~= digest then
    return 'changed'
  end
  if state == 'open' then
    if tonumber(deadline) <= strict_now(prefix) then
      return 'late'
    end
    redis.call('HSET', data, field, approved .. ' ' .. deadline .. ' consumed\n' .. by)
  end
end

-- What was recalled of this attempt of an action, as a status of `claim`, and its receipt; nil: nothing. The same call under another id
-- is forgotten once, then it is that one's.
local function recall(prefix, id, action)
  if action.repeatable == '1' or redis.call('EXISTS', prefix .. 'recalled') == 0 then
    return nil
  end
  local chain, name = split(id)
  local now_called = redis.sha1hex(redis.call('HGET', row(prefix, KEY.DATA, chain), name .. '.' .. PART.CALL) or '')
  local others = alike(prefix, chain, now_called)
  redis.call('SREM', others, id)
  local recalled = redis.call('HGET', prefix .. 'recalled', id) or ''
  local attempt, call, receipt = string.match(recalled, '^(%d+) (%x+)\n(.*)$')
  if attempt and tonumber(attempt) >= tonumber(action.attempt) then
    if receipt ~= '' and now_called == call then
      return 'known', receipt
    end
    return 'forgotten', ''
  end
  return redis.call('SPOP', others) and 'forgotten' or nil, ''
end

-- claim stream entry action consumer token [mode] [digest]
-- Take over an entry, or take one with effects for the first time. Only the consumer that the entry is pending for may do
-- that. `token` is new for each claim: the same token again is a repeat whose first reply was lost, and gets that reply.
-- A claim that finds a doubt leaves the token of the claim that started the action.
-- `mode` is `start` (the default) right before the tool runs. `look` takes the entry over and does not mark it as started.
-- A start with a `digest` needs an approval of this call and consumes it in the same moment (G1).
-- Returns {status, epoch}:
--   done      the result is known or the chain is final: the entry was finished
--   stale     this is not the action's current entry (forged, replayed, doubled): the entry was finished
--   lost      the entry is pending for another consumer, or for none: nothing was done
--   unapproved, changed, late   no approval, one of another call, or an expired one: nothing was done
--   stopped   its chain is being cancelled and no worker had started it: nothing was done
--   in_doubt  a worker had started it, its effects cannot be repeated: complete it with an IN_DOUBT error under `epoch`
--   known     it had been done, as a process recalls: complete it under `epoch` with the third value, its receipt
--   forgotten it had been started, as a process recalls, or another call under its id, or this one under another id: as in_doubt
--   recovering  this server is new here, and processes may know more than it: nothing was done, ask again
--   go        run it under `epoch`
register('claim', function(prefix, _, stream, entry, id, consumer, token, mode, digest)
  local chain, name = split(id)
  local action, status, to_come = read_action(prefix, chain, name)
  if FINAL[status] or (action and has_receipt(prefix, chain, name)) then
    finish(prefix, stream, entry)
    return { 'done', 0 }
  end
  if not action or action.entry ~= entry then
    finish(prefix, stream, entry)
    return { 'stale', 0 }
  end
  if holder_of(prefix, stream, entry) ~= consumer then
    return { 'lost', 0 }
  end
  if is_recovering(prefix) then
    return { 'recovering', 0 }
  end
  local epoch, state = action.epoch, action.state
  local recalled, receipt = recall(prefix, id, action)
  if action.token ~= token then
    local starts = mode ~= 'look'
    state = starts and STATE.STARTED or action.state
    if is_in_doubt(action) or recalled then
      state = STATE.IN_DOUBT
    elseif starts and to_come == 'cancelled' and action.state == STATE.SENT then
      return { 'stopped', epoch }
    elseif starts and digest and digest ~= '' then
      local refused = consume_approval(prefix, chain, name, digest)
      if refused then
        return { refused, epoch }
      end
    end
    epoch = epoch + 1
    local kept = is_in_doubt(action) and not recalled and action.token or token
    write_action(prefix, chain, name, entry, epoch, action.attempt, action.repeatable, state, kept)
  end
  if recalled then
    return { recalled, epoch, receipt }
  end
  return { state == STATE.IN_DOUBT and 'in_doubt' or 'go', epoch }
end)

-- Whether the result of the claim that started an action may count (R4) though another worker has the entry: no doubt is on record, or a
-- person is asked about it. Then they are asked no more, and the doubt goes.
local function settles(prefix, id, action, token)
  if not action or not is_in_doubt(action) or action.token ~= token then
    return false
  end
  local chain, name = split(id)
  local head, data, receipt = row(prefix, KEY.CHAIN, chain), row(prefix, KEY.DATA, chain), name .. '.' .. PART.RECEIPT
  if string.find(redis.call('HGET', data, receipt) or '', KIND.IN_DOUBT, 1, true) ~= 1 then
    return true
  end
  for number in string.gmatch(redis.call('HGET', head, HEAD.OPEN) or '', '%d+') do
    local request = 'r' .. number
    local is_open = string.match(redis.call('HGET', head, request), '^open ')
    if is_open and cjson.decode(redis.call('HGET', data, request)).action_id == id then
      redis.call('HSET', head, request, 'withdrawn')
      redis.call('HDEL', data, receipt)
      return true
    end
  end
  return false
end

-- complete consumer [stream entry action epoch token in_doubt outcome data head tail]...
-- Record receipts of entries that are pending for this consumer, or of actions that its claim, by its `token`, had started before another
-- worker found them in doubt. `in_doubt` '1': the outcome says IN_DOUBT, which is no receipt but takes its place until a person's answer
-- resolves the action or has it dispatched again. The message to the executor is head .. outcome .. tail, its body the data.
-- Returns for each: recorded | again (a receipt is there: the entry was finished) | stale (not current, or not this
-- consumer's: nothing was done).
-- A final chain's receipt is recorded, and nobody is told.
register('complete', function(prefix, args, consumer)
  local reply, finished = {}, {}
  for i = 2, #args, 10 do
    local stream, entry, id, epoch, token, in_doubt, outcome, data, head, tail = unpack(args, i, i + 9)
    local chain, name = split(id)
    local action, ended = read_action(prefix, chain, name)
    local is_held = holds(action, entry, epoch) and holder_of(prefix, stream, entry) == consumer
    local status = 'stale'
    if is_held or (in_doubt ~= '1' and settles(prefix, id, action, token)) then
      local message = head .. outcome .. tail
      status = record(prefix, chain, name, ended, in_doubt == '1', outcome, data, message) and 'recorded' or 'again'
    elseif action and has_receipt(prefix, chain, name) then
      status = 'again'
    end
    if status ~= 'stale' then
      local entries = finished[stream] or {}
      finished[stream] = entries
      entries[#entries + 1] = entry
    end
    reply[#reply + 1] = status
  end
  for stream, entries in pairs(finished) do
    finish_all(prefix, stream, entries)
  end
  return reply
end)

-- heartbeat stream entry action epoch consumer: keep the lease. An entry that is still pending for this consumer, and whose action still
-- has this entry and epoch, begins its idle time anew. A thought has no action: '' instead, and only the consumer is compared.
-- Returns kept | lost.
register('heartbeat', function(prefix, _, stream, entry, id, epoch, consumer)
  local ours = holder_of(prefix, stream, entry) == consumer
  if not ours or (id ~= '' and not holds(read_action(prefix, split(id)), entry, epoch)) then
    return 'lost'
  end
  redis.call('XCLAIM', prefix .. stream, group_of(stream), consumer, 0, entry, 'JUSTID')
  return 'kept'
end)

-- release stream entry action epoch consumer: hand an entry back, to be read by anybody as if it were new: not an action with effects
-- that was started. The entry is added anew with the same bytes and becomes the current one, at epoch 0. A thought: '' instead of the
-- action. Returns released | stale (not held any more, or not to be handed back: nothing was done).
register('release', function(prefix, _, stream, entry, id, epoch, consumer)
  if holder_of(prefix, stream, entry) ~= consumer then
    return 'stale'
  end
  local chain, name = split(id)
  local action
  if id ~= '' then
    action = read_action(prefix, chain, name)
    if not holds(action, entry, epoch) or is_in_doubt(action) or has_receipt(prefix, chain, name) then
      return 'stale'
    end
  end
  local bytes = fields_of(prefix, stream, entry)
  if not bytes then
    return 'stale'
  end
  renew(prefix, stream, bytes, chain, name, action)
  finish(prefix, stream, entry)
  return 'released'
end)
