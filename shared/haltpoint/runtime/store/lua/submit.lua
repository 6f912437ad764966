-- submit chain digest version task head timeout deadline trace limit
-- Starts a chain, whole, with its first message: chain, task, timer, index and task.submitted, or nothing.
--   digest    of the submitted body: tells a repeat from another body under the same id
--   version   "0-<nonce>"
--   task      JSON of contracts.work.tasks.Task
--   head      JSON of the message task.submitted; it carries the goal only, the task lies beside it
--   timeout   ms that the chain may take; deadline: ms since the epoch or 0. The earlier one counts.
--   trace     traceparent or ''
--   limit     of the events stream's length; at it nothing is accepted. 0: none
-- Returns {status, now}: created | again (same digest) | conflict (another digest) | elsewhere (a chain of another release
-- has this id) | busy.
--
-- accept is the same for a task that lies in a stream already: it takes room there anyway, so it is not refused when
-- the memory is full.
local function submit(prefix, _, chain, digest, version, task, head, timeout, wished, trace, limit)
  local at = now(prefix)
  local there, is_ours = unpack(redis.call('HMGET', row(prefix, KEY.CHAIN, chain), HEAD.DIGEST, HEAD.VERSION))
  if there and not is_ours then
    return { 'elsewhere', at }
  elseif there then
    return { there == digest and 'again' or 'conflict', at }
  end
  if limit ~= '0' and redis.call('XLEN', prefix .. 'events') >= tonumber(limit) then
    return { 'busy', at }
  end
  local latest = wished == '0' and math.huge or tonumber(wished)
  begin_chain(prefix, at, chain, digest, version, task, head, digits(math.min(at + tonumber(timeout), latest)), trace)
  return { 'created', at }
end

register('submit', submit)
register('accept', submit)

-- remember conversation entry at most retention: keep an accepted task in its conversation, once, for `retention` s after the last one;
-- of more than `most` the oldest go.
register('remember', function(prefix, _, conversation, entry, at, most, retention)
  local key = prefix .. 'conversation:' .. conversation
  redis.call('ZADD', key, 'NX', at, entry)
  redis.call('ZREMRANGEBYRANK', key, 0, -tonumber(most) - 1)
  redis.call('EXPIRE', key, retention)
  return 'kept'
end)
