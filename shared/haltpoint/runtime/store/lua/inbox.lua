-- A question as it is now. `closed` says why it takes no answer, as `answer` replies; it is absent while it is open.
local function question_at(prefix, id)
  local chain, name = split(id)
  local head, data = row(prefix, KEY.CHAIN, chain), row(prefix, KEY.DATA, chain)
  local is = redis.call('HMGET', head, name, HEAD.STATUS)
  local question = { head = head, data = data, name = name, at = now(prefix) }
  if not is[1] then
    question.closed = 'unknown'
    return question
  end
  local state, deadline = string.match(is[1], '^(%S+) ?(%d*)$')
  if state == 'answered' then
    local answered = redis.call('HGET', data, name .. '.' .. PART.ANSWER)
    question.decision, question.by = string.match(answered, '^%d+\n([^\n]*)\n[^\n]*\n[^\n]*\n(.*)$')
    question.closed = 'answered'
  elseif state == 'expired' or (state == 'open' and tonumber(deadline) <= question.at) then
    question.closed = 'expired'
  elseif state ~= 'open' or not is[2] or FINAL[is[2]] then
    question.closed = 'stale'
  end
  return question
end

-- People at work on a question, who has voted and who has taken it, are no line of the log: those who look at its chain
-- hear that something changed.
local function show_people(prefix, id)
  write_feed(prefix, DAY, 'changed', (split(id)))
end

-- Whether another person has taken the question.
local function is_another_ones(question, by)
  local claim = redis.call('HGET', question.data, question.name .. '.' .. PART.CLAIM) or '0\n'
  local ends, holder = string.match(claim, '^(%d+)\n(.*)$')
  return tonumber(ends) > question.at and holder ~= by
end

-- answer request answer way by decision quorum head [action digest seconds]
-- Take an answer: once, in time, for an open question of a living chain.
--   answer   JSON of contracts.people.humans.Answer; by: who, on one line
--   decision the digest of the answer without its comment; the same one of the same person again is a repeat: taken
--   quorum   so many different people have to decide the same; until then the answer is a vote, which is taken, too
--   head     of the message human.answered, up to and with `"answer":`
--   action, digest, seconds   a yes to a call: the record that lets it run is written with the answer, and holds so long
-- Returns taken | answered (another was first) | claimed (another person has taken it) | expired | stale (withdrawn, or the
-- chain is over) | unknown.
register('answer', function(prefix, _, id, answer, way, by, decision, quorum, head, call, digest, seconds)
  local question = question_at(prefix, id)
  local data, name = question.data, question.name
  local field = name .. '.' .. PART.VOTES
  local votes, names, has_voted, is_repeat = {}, {}, false, false
  for _, vote in ipairs(cjson.decode(redis.call('HGET', data, field) or '[]')) do
    local is_theirs, is_same = vote[5] == by, vote[2] == decision
    has_voted, is_repeat = has_voted or is_theirs, is_repeat or (is_theirs and is_same)
    if is_same or not is_theirs then
      votes[#votes + 1] = vote
      names[#names + 1] = is_same and vote[5] or nil
    end
  end
  if question.closed then
    local is_theirs = has_voted or question.by == by
    return question.decision == decision and is_theirs and 'taken' or question.closed
  end
  if is_another_ones(question, by) then
    return 'claimed'
  end
  local at = digits(question.at)
  redis.call('HDEL', data, name .. '.' .. PART.CLAIM)
  if not is_repeat then
    names[#names + 1] = by
    votes[#votes + 1] = { at, decision, answer, way, by }
  end
  if tonumber(quorum) > 1 then
    redis.call('HSET', data, field, cjson.encode(votes))
  end
  if #names < tonumber(quorum) then
    show_people(prefix, id)
    return 'taken'
  end
  by = table.concat(names, ', ')
  redis.call('HSET', question.head, name, 'answered')
  redis.call('HSET', data, name .. '.' .. PART.ANSWER, table.concat({ at, decision, answer, way, by }, '\n'))
  redis.call('ZREM', prefix .. 'index:requests', id)
  if call then
    local _, action = split(call)
    local ends = digits(strict_now(prefix) + tonumber(seconds) * 1000)
    redis.call('HSET', data, action .. '.' .. PART.APPROVAL, digest .. ' ' .. ends .. ' open\n' .. by)
  end
  add(prefix, 'events', head .. answer .. ',"by":' .. cjson.encode(by) .. ',"at":' .. at .. '}}')
  return 'taken'
end)

-- claim_request request by seconds forced: take an open question for so many seconds, in which others neither take nor answer it; 0
-- gives it back. `forced`: 1 also where another person has taken it. Returns what `answer` returns.
register('claim_request', function(prefix, _, id, by, seconds, forced)
  local question = question_at(prefix, id)
  if question.closed then
    return question.closed
  end
  if forced ~= '1' and is_another_ones(question, by) then
    return 'claimed'
  end
  local ends, field = question.at + tonumber(seconds) * 1000, question.name .. '.' .. PART.CLAIM
  if ends > question.at then
    redis.call('HSET', question.data, field, digits(ends) .. '\n' .. by)
  else
    redis.call('HDEL', question.data, field)
  end
  show_people(prefix, id)
  return 'taken'
end)

-- cancel chain message: ask the executor to stop a chain. A repeat is a second message with the same id, which the machine ignores.
-- Returns sent | final | unknown.
register('cancel', function(prefix, _, chain, message)
  if tell(prefix, chain, message) then
    return 'sent'
  end
  return redis.call('EXISTS', row(prefix, KEY.CHAIN, chain)) == 1 and 'final' or 'unknown'
end)
