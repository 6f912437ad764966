-- dead_letter stream entry reason detail chain ['' id]
-- dead_letter stream entry reason detail chain action id head failed in_doubt tail
-- dead_letter stream entry reason detail chain thought id head data
-- dead_letter stream entry reason detail chain lost '' message
-- What cannot be processed is kept with its bytes and its reason, and its chain hears of it: all in one step.
--  - an action whose current entry this is gets a receipt, and the executor the message head .. outcome .. tail. The
--    outcome is `failed`, or `in_doubt` (beside, no receipt) when it was started and its effects cannot be repeated.
--  - a thought that was not recorded is recorded as failed: type thought.failed.v1, `data`, and the executor gets the
--    message head .. data .. '}'.
--  - of anything else that may be what the chain waits for, the executor gets the word `message`.
--  - of what it is to go on waiting for (a newer release reads it) it hears nothing: `id` says what that is, for `requeue`.
-- A chain that is final, or not there, hears nothing. Returns {status, letter}: moved | gone (the entry is not there any more: it was finished).
local function tell_of_action(prefix, entry, id, head, failed, doubtful, tail)
  local chain, name = split(id)
  local action, status = read_action(prefix, chain, name)
  if action and action.entry == entry then
    local in_doubt = is_in_doubt(action)
    local outcome = in_doubt and doubtful or failed
    record(prefix, chain, name, status, in_doubt, outcome, '', head .. outcome .. tail)
  end
end

register('dead_letter', function(prefix, args, stream, entry, reason, detail, chain, kind, id, head)
  local letter = dead_letter(prefix, stream, entry, reason, detail, chain, id or '')
  if not letter then
    return { 'gone', '' }
  end
  if kind == 'action' then
    tell_of_action(prefix, entry, unpack(args, 7))
  elseif kind == 'thought' then
    record_thought(prefix, id, 'thought.failed.v1', args[9], '', head)
  elseif kind == 'lost' then
    tell(prefix, chain, head)
  end
  return { 'moved', letter }
end)

local OURS = 14 -- values of dead_letter's own seven fields

-- requeue letter: give a dead letter another chance. Its own fields go back to its stream as a new entry, which becomes the current one
-- of its action, and the letter goes. An action that has a receipt, or a person who decides, or another entry, or whose chain is over,
-- is left alone.
-- Returns requeued | gone (no such letter, or requeued before) | done (nobody waits for it; the letter stays).
register('requeue', function(prefix, _, letter)
  local fields = fields_of(prefix, 'dead', letter)
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
  redis.call('XDEL', prefix .. 'dead', letter)
  return 'requeued'
end)
