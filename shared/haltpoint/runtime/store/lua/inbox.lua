--[[
hp3_answer request answer by by_json decision head [action digest seconds]

Take an answer: once, in time, for an open question of a living chain.
  answer   JSON of contracts.people.humans.Answer; by: the way and who, a line each; by_json: who as JSON text
  decision the digest of the answer without its comment; the same one of the same person again is a repeat: taken
  head     of the message human.answered, up to and with `"answer":`
  action, digest, seconds   a yes to a call: the record that lets it run is written with the answer, and holds so long
Returns {status, at, by, answer}: taken | answered (with by, at and answer of the first) | expired | stale (withdrawn,
or the chain is over) | unknown.
]]
local function person(by)
  return string.match(by, '\n(.*)$')
end

register('answer', function(keys, args)
  local prefix, id = prefix_of(keys), args[1]
  local chain, name = split(id)
  local head, data = row(prefix, KEY.CHAIN, chain), row(prefix, KEY.DATA, chain)
  local is = redis.call('HMGET', head, name, HEAD.STATUS)
  local at = now(prefix)
  if not is[1] then
    return { 'unknown', 0, '', '' }
  end
  local state, deadline = string.match(is[1], '^(%S+) ?(%d*)$')
  if state == 'answered' then
    local answered = redis.call('HGET', data, name .. '.' .. PART.ANSWER)
    local since, decision, answer, by = string.match(answered, '^(%d+)\n([^\n]*)\n([^\n]*)\n(.*)$')
    local repeated = decision == args[5] and person(by) == person(args[3])
    return { repeated and 'taken' or 'answered', tonumber(since), by, answer }
  end
  if state == 'expired' or (state == 'open' and tonumber(deadline) <= at) then
    return { 'expired', tonumber(deadline), '', '' }
  end
  if state ~= 'open' or not is[2] or FINAL[is[2]] then
    return { 'stale', 0, '', '' }
  end
  redis.call('HSET', head, name, 'answered')
  redis.call('HSET', data, name .. '.' .. PART.ANSWER,
    digits(at) .. '\n' .. args[5] .. '\n' .. args[2] .. '\n' .. args[3])
  redis.call('ZREM', prefix .. 'index:requests', id)
  if args[7] then
    local _, action = split(args[7])
    redis.call('HSET', data, action .. '.' .. PART.APPROVAL,
      args[8] .. ' ' .. digits(at + tonumber(args[9]) * 1000) .. ' open\n' .. args[3])
  end
  add(prefix, 'events', args[6] .. args[2] .. ',"by":' .. args[4] .. ',"at":' .. digits(at) .. '}}')
  return { 'taken', at, args[3], args[2] }
end)

--[[
hp3_cancel chain message

Ask the executor to stop a chain. A repeat is a second message with the same id, which the machine ignores.
Returns sent | final | unknown.
]]
register('cancel', function(keys, args)
  local prefix = prefix_of(keys)
  local status = redis.call('HGET', row(prefix, KEY.CHAIN, args[1]), HEAD.STATUS)
  if not status then
    return 'unknown'
  end
  if FINAL[status] then
    return 'final'
  end
  add(prefix, 'events', args[2])
  return 'sent'
end)
