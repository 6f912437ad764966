--[[
What workers do to actions. An action's hash says which entry is its current one; its epoch counts the claims of that
entry. (entry, epoch) is the fence: whoever holds another pair has lost the action.
]]

--[[
hp1_claim stream entry action consumer token

Take over an entry, or take one with effects for the first time. Only the consumer that the entry is pending for may do
that. `token` is new for each claim: the same token again is a repeat whose first reply was lost, and gets that reply.
Returns {status, epoch}:
  done      the result is known or the chain is final: the entry was finished
  stale     this is not the action's current entry (forged, replayed, doubled): the entry was finished
  lost      the entry is pending for another consumer, or for none: nothing was done
  in_doubt  somebody had started it, its effects cannot be repeated: complete it with an IN_DOUBT error under `epoch`
  go        run it under `epoch`
]]
register('claim', function(keys, args)
  local prefix, stream, entry = prefix_of(keys), args[1], args[2]
  local key = prefix .. 'action:' .. args[3]
  local is = redis.call('HMGET', key, 'entry', 'epoch', 'receipt', 'doubt', 'repeatable', 'started', 'owner', 'verdict')
  if is[3] or is[4] or is_final(prefix, chain_of(args[3])) then
    finish(prefix, stream, entry)
    return { 'done', 0 }
  end
  if is[1] ~= entry then
    finish(prefix, stream, entry)
    return { 'stale', 0 }
  end
  if holder_of(prefix, stream, entry) ~= args[4] then
    return { 'lost', 0 }
  end
  local epoch = tonumber(is[2])
  if is[7] == args[5] then
    return { is[8], epoch }
  end
  local verdict = (is[5] ~= '1' and is[6]) and 'in_doubt' or 'go'
  epoch = epoch + 1
  redis.call('HSET', key, 'epoch', epoch, 'owner', args[5], 'verdict', verdict)
  if verdict == 'go' then
    redis.call('HSET', key, 'started', digits(real_now()))
  end
  return { verdict, epoch }
end)

--[[
hp1_complete consumer [stream entry action epoch doubt outcome data head tail]...

Record receipts of entries that are pending for this consumer. `doubt` '1': the outcome says IN_DOUBT, which is no receipt; it lies beside, until a person's answer
settles the action or has it dispatched again. The message to the executor is head .. outcome .. tail, its body the data.
Returns for each: recorded | again (a receipt is there: the entry was finished) | stale (not current, or not this
consumer's: nothing was done).
A final chain's receipt is recorded, and nobody is told.
]]
register('complete', function(keys, args)
  local prefix = prefix_of(keys)
  local reply, finished = {}, {}
  local function done_with(stream, entry)
    local entries = finished[stream] or {}
    finished[stream] = entries
    entries[#entries + 1] = entry
  end
  local consumer = args[1]
  for i = 2, #args, 9 do
    local stream, entry, action = args[i], args[i + 1], args[i + 2]
    local is = redis.call('HMGET', prefix .. 'action:' .. action, 'entry', 'epoch', 'receipt', 'doubt')
    local status = 'stale'
    if is[3] or is[4] then
      status = 'again'
      done_with(stream, entry)
    elseif is[1] == entry and is[2] == args[i + 3] and holder_of(prefix, stream, entry) == consumer then
      status = 'recorded'
      local outcome, data = args[i + 5], args[i + 6]
      record(prefix, action, args[i + 4] == '1' and 'doubt' or 'receipt', outcome, data)
      if not is_final(prefix, chain_of(action)) then
        add(prefix, 'events', args[i + 7] .. outcome .. args[i + 8], data)
      end
      done_with(stream, entry)
    end
    reply[#reply + 1] = status
  end
  for stream, entries in pairs(finished) do
    finish_all(prefix, stream, entries)
  end
  return reply
end)

--[[
hp1_heartbeat [stream entry action epoch consumer]...

Keep the leases: an entry that is still pending for this consumer, and whose action still has this entry and epoch,
begins its idle time anew. A thought has no action: '' instead, and only the consumer is compared.
Returns for each: kept | lost.
]]
register('heartbeat', function(keys, args)
  local prefix = prefix_of(keys)
  local reply = {}
  for i = 1, #args, 5 do
    local stream, entry, action, consumer = args[i], args[i + 1], args[i + 2], args[i + 4]
    local ours = holder_of(prefix, stream, entry) == consumer
    if ours and action ~= '' then
      local is = redis.call('HMGET', prefix .. 'action:' .. action, 'entry', 'epoch')
      ours = is[1] == entry and is[2] == args[i + 3]
    end
    if ours then
      redis.call('XCLAIM', prefix .. stream, group_of(stream), consumer, 0, entry, 'JUSTID')
    end
    reply[#reply + 1] = ours and 'kept' or 'lost'
  end
  return reply
end)

--[[
hp1_release stream entry action epoch consumer

Hand an entry back, to be read by anybody as if it were new: not an action with effects that was started. The entry is
added anew with the same bytes and becomes the current one, at epoch 0. A thought: '' instead of the action.
Returns released | stale (not held any more, or not to be handed back: nothing was done).
]]
register('release', function(keys, args)
  local prefix, stream, entry, action = prefix_of(keys), args[1], args[2], args[3]
  if holder_of(prefix, stream, entry) ~= args[5] then
    return 'stale'
  end
  if action ~= '' then
    local is = redis.call('HMGET', prefix .. 'action:' .. action,
      'entry', 'epoch', 'receipt', 'doubt', 'repeatable', 'started')
    local mine = is[1] == entry and is[2] == args[4]
    local open = not is[3] and not is[4] and (is[5] == '1' or not is[6])
    if not (mine and open) then
      return 'stale'
    end
  end
  local bytes = fields_of(prefix, stream, entry)
  if not bytes then
    return 'stale'
  end
  renew(prefix, stream, bytes, action)
  finish(prefix, stream, entry)
  return 'released'
end)
