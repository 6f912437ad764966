--[[
hp3_dead_letter stream entry reason detail chain ['' id]
hp3_dead_letter stream entry reason detail chain action id head failed in_doubt tail
hp3_dead_letter stream entry reason detail chain thought id head data
hp3_dead_letter stream entry reason detail chain lost '' message

What cannot be processed is kept with its bytes and its reason, and its chain hears of it: all in one step.
 - an action whose current entry this is gets a receipt, and the executor the message head .. outcome .. tail. The
   outcome is `failed`, or `in_doubt` (beside, no receipt) when it was started and its effects cannot be repeated.
 - a thought that was not recorded is recorded as failed: type thought.failed.v1, `data`, and the executor gets the
   message head .. data .. '}'.
 - of anything else that may be what the chain waits for, the executor gets the word `message`.
 - of what it is to go on waiting for (a newer release reads it) it hears nothing: `id` says what that is, for `requeue`.
A chain that is final, or not there, hears nothing. Returns {status, letter}: moved | gone (the entry is not there any more: it was finished).
]]
local function tell_of_action(prefix, entry, args)
  local chain, name = split(args[7])
  local action, status = read_action(prefix, chain, name)
  if not action or action.entry ~= entry then
    return
  end
  local in_doubt = is_in_doubt(action)
  local outcome = in_doubt and args[10] or args[9]
  local first = record(prefix, chain, name, in_doubt and KIND.IN_DOUBT or KIND.RECEIPT, outcome, '')
  if first and not FINAL[status] then
    add(prefix, 'events', args[8] .. outcome .. args[11])
  end
end

local function tell_of_loss(prefix, chain, message)
  local status = redis.call('HGET', row(prefix, KEY.CHAIN, chain), HEAD.STATUS)
  if status and not FINAL[status] then
    add(prefix, 'events', message)
  end
end

register('dead_letter', function(keys, args)
  local prefix, stream, entry = prefix_of(keys), args[1], args[2]
  local letter = dead_letter(prefix, stream, entry, args[3], args[4], args[5], args[7] or '')
  if not letter then
    return { 'gone', '' }
  end
  if args[6] == 'action' then
    tell_of_action(prefix, entry, args)
  elseif args[6] == 'thought' then
    record_thought(prefix, args[7], 'thought.failed.v1', args[9], '', args[8])
  elseif args[6] == 'lost' then
    tell_of_loss(prefix, args[5], args[8])
  end
  return { 'moved', letter }
end)

--[[
hp3_requeue letter

Give a dead letter another chance: its own fields go back to its stream as a new entry, which becomes the current one of
its action, and the letter goes. An action that has a receipt, or a person who decides, or another entry, or whose chain is
over, is left alone.
Returns requeued | gone (no such letter, or requeued before) | done (nobody waits for it; the letter stays).
]]
local OURS = 14 -- values of dead_letter's own seven fields

register('requeue', function(keys, args)
  local prefix = prefix_of(keys)
  local fields = fields_of(prefix, 'dead', args[1])
  if not fields then
    return 'gone'
  end
  local stream, bytes = fields[2], {}
  local chain, name, action
  if string.sub(stream, 1, 6) == 'tools:' and fields[12] ~= '' then
    chain, name = split(fields[12])
    local status
    action, status = read_action(prefix, chain, name)
    if not action or action.entry ~= fields[4] or FINAL[status] or has_receipt(prefix, chain, name) then
      return 'done'
    end
  end
  for n = OURS + 1, #fields do
    bytes[n - OURS] = fields[n]
  end
  renew(prefix, stream, bytes, chain, name, action)
  redis.call('XDEL', prefix .. 'dead', args[1])
  return 'requeued'
end)
