--[[
hp3_submit chain digest version task head timeout deadline trace limit

Starts a chain, whole, with its first message: chain, task, timer, index and task.submitted, or nothing.
  digest    of the submitted body: tells a repeat from another body under the same id
  version   "0-<nonce>"
  task      JSON of contracts.work.tasks.Task
  head      JSON of the message task.submitted; it carries the goal only, the task lies beside it
  timeout   ms that the chain may take; deadline: ms since the epoch or 0. The earlier one counts.
  trace     traceparent or ''
  limit     of the events stream's length; at it nothing is accepted. 0: none
Returns {status, now}: created | again (same digest) | conflict (another digest) | elsewhere (a chain of another release
has this id) | busy.

hp3_accept is the same for a task that lies in a stream already: it takes room there anyway, so it is not refused when
the memory is full.
]]
local function submit(keys, args)
  local prefix = prefix_of(keys)
  local chain, digest, limit = args[1], args[2], tonumber(args[9])
  local at = now(prefix)
  local there, version = unpack(redis.call('HMGET', row(prefix, KEY.CHAIN, chain), HEAD.DIGEST, HEAD.VERSION))
  if there and not version then
    return { 'elsewhere', at }
  end
  if there then
    return { there == digest and 'again' or 'conflict', at }
  end
  if limit > 0 and redis.call('XLEN', keys[1]) >= limit then
    return { 'busy', at }
  end
  local deadline, wished = at + tonumber(args[6]), tonumber(args[7])
  if wished > 0 and wished < deadline then
    deadline = wished
  end
  begin_chain(prefix, at, chain, digest, args[3], args[4], args[5], digits(deadline), args[8])
  return { 'created', at }
end

register('submit', submit)
register('accept', submit)

--[[
hp3_remember conversation entry at most retention

Keep an accepted task in its conversation, once, for `retention` s after the last one; of more than `most` the oldest go.
]]
register('remember', function(keys, args)
  local key = prefix_of(keys) .. 'conversation:' .. args[1]
  redis.call('ZADD', key, 'NX', args[3], args[2])
  redis.call('ZREMRANGEBYRANK', key, 0, -tonumber(args[4]) - 1)
  redis.call('EXPIRE', key, args[5])
  return 'kept'
end)
