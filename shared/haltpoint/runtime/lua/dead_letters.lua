--[[
hp1_dead_letter stream entry reason detail chain ['' id]
hp1_dead_letter stream entry reason detail chain action id head failed in_doubt tail
hp1_dead_letter stream entry reason detail chain thought id head data retention
hp1_dead_letter stream entry reason detail chain lost '' message

What cannot be processed is kept with its bytes and its reason, and its chain hears of it: all in one step.
 - an action whose current entry this is gets a receipt, and the executor the message head .. outcome .. tail. The
   outcome is `failed`, or `in_doubt` (beside, no receipt) when it was started and its effects cannot be repeated.
 - a thought that was not recorded is recorded as failed: type thought.failed.v1, `data`, and the executor gets the
   message head .. data .. '}'; see think for `retention`.
 - of anything else that may be what the chain waits for, the executor gets the word `message`.
 - of what it is to go on waiting for (a newer release reads it) it hears nothing: `id` says what that is, for `requeue`.
A chain that is final, or not there, hears nothing. Returns {status, letter}: buried | gone (the entry is not there any more: it was finished).
]]
local function tell_of_action(prefix, entry, args)
  local is = redis.call('HMGET', prefix .. 'action:' .. args[7], 'entry', 'receipt', 'doubt', 'repeatable', 'started')
  if is[1] ~= entry or is[2] or is[3] then
    return
  end
  local doubtful = is[4] ~= '1' and is[5]
  local outcome = doubtful and args[10] or args[9]
  record(prefix, args[7], doubtful and 'doubt' or 'receipt', outcome, '')
  if not is_final(prefix, chain_of(args[7])) then
    add(prefix, 'events', args[8] .. outcome .. args[11])
  end
end

local function tell_of_thought(prefix, args)
  record_thought(prefix, args[7], 'thought.failed.v1', args[9], '', args[8], args[10])
end

local function tell_of_loss(prefix, chain, message)
  if redis.call('EXISTS', prefix .. 'chain:' .. chain) == 1 and not is_final(prefix, chain) then
    add(prefix, 'events', message)
  end
end

register('dead_letter', function(keys, args)
  local prefix, stream, entry = prefix_of(keys), args[1], args[2]
  local letter = bury(prefix, stream, entry, args[3], args[4], args[5], args[7] or '')
  if not letter then
    return { 'gone', '' }
  end
  if args[6] == 'action' then
    tell_of_action(prefix, entry, args)
  elseif args[6] == 'thought' then
    tell_of_thought(prefix, args)
  elseif args[6] == 'lost' then
    tell_of_loss(prefix, args[5], args[8])
  end
  return { 'buried', letter }
end)

--[[
hp1_requeue letter

Give a dead letter another chance: its own fields go back to its stream as a new entry, which becomes the current one of
its action, and the letter goes. An action that has a receipt, or a person who decides, or another entry, or whose chain is
over, is left alone.
Returns requeued | gone (no such letter, or requeued before) | done (nobody waits for it; the letter stays).
]]
local OURS = 14 -- values of bury's own seven fields

register('requeue', function(keys, args)
  local prefix = prefix_of(keys)
  local fields = fields_of(prefix, 'dead', args[1])
  if not fields then
    return 'gone'
  end
  local stream, id, bytes = fields[2], fields[12], {}
  local action = string.sub(stream, 1, 6) == 'tools:' and id or ''
  if action ~= '' then
    local is = redis.call('HMGET', prefix .. 'action:' .. action, 'entry', 'receipt', 'doubt')
    if is[2] or is[3] or is[1] ~= fields[4] or is_final(prefix, chain_of(action)) then
      return 'done'
    end
  end
  for n = OURS + 1, #fields do
    bytes[n - OURS] = fields[n]
  end
  renew(prefix, stream, bytes, action)
  redis.call('XDEL', prefix .. 'dead', args[1])
  return 'requeued'
end)
