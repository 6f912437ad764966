-- commit feed_age done entry... [writes]...
--
-- The executor's one way to change chains: a batch of one partition, each chain whole or not at all.
--   feed_age  ms that facts stay in the feed
--   done      number of entries of the events stream that follow and are finished in any case
--   writes    one chain each: `ChainWrites` of runtime/store/operations.py as MessagePack, which says what each field is; the
--             operations below have the same names, and take their fields in order
-- The feed gets one entry for the whole batch: `lines`, with `<chain>:<n>` for each new line of a log that has facts, n
-- its place in the log, with blanks between.
-- Returns {now, status...}: 0 ok | 1 conflict (nothing written) | 2 fault. A repeat of a commit that was applied finds
-- `version` in the chain and is ok. A fault is an error after the first write: the chain has failed and says so, its
-- version is "quarantined", which no commit can expect, and its timer and questions go; each of its entries goes to the dead
-- letters with its bytes, and is acknowledged.
local STALE_INDEX_BATCH = 200 -- more than the chains that can end in one batch
local CHUNK = 200 -- values in one HSET

local operations = {}

-- Fields of the chain wait in `run.fields` and are written together: by `flush`, before anything reads them.
local function flush(run)
  local fields = run.fields
  for first = 1, #fields, CHUNK do
    redis.call('HSET', run.head, unpack(fields, first, math.min(first + CHUNK - 1, #fields)))
  end
  run.fields = {}
end

function operations.write_head(run, fields)
  flush(run)
  run.fields = fields
end

function operations.write_data(run, field, value)
  redis.call('HSET', run.data, field, value)
end

function operations.append_log(run, line, facts)
  local length = redis.call('RPUSH', run.log, line)
  if facts then
    run.lines[#run.lines + 1] = run.chain .. ':' .. length - 1
  end
end

-- The receipt of an earlier attempt stays readable, by its number.
local function put_aside(data, name, attempt)
  local receipt = redis.call('HGET', data, name .. '.' .. PART.RECEIPT)
  if receipt then
    redis.call('HSET', data, name .. '.' .. PART.RECEIPT .. '.' .. attempt, receipt)
  end
  redis.call('HDEL', data, name .. '.' .. PART.RECEIPT, name .. '.' .. PART.RESOLUTION)
end

function operations.dispatch(run, id, queue, attempt, repeatable, tool, arguments, message, again)
  if again then
    flush(run)
    local before = read_action(run.prefix, run.chain, id)
    put_aside(run.data, id, before.attempt)
  end
  local entry = add(run.prefix, 'tools:' .. queue, message, arguments)
  redis.call('HSETNX', run.prefix .. 'sent', queue, entry)
  run.fields[#run.fields + 1] = id
  run.fields[#run.fields + 1] = row_of(entry, 0, attempt, repeatable, STATE.SENT, NONE)
  redis.call('HSET', run.data, id .. '.' .. PART.CALL, tool .. '\n' .. arguments)
end

function operations.record_action(run, id, tool, arguments)
  write_action(run.prefix, run.chain, id, NONE, 0, 1, 0, STATE.RECORDED, NONE)
  redis.call('HSET', run.data, id .. '.' .. PART.CALL, tool .. '\n' .. arguments)
end

function operations.resolve_action(run, id, outcome, data)
  redis.call('HSET', run.data, id .. '.' .. PART.RESOLUTION, KIND.RECEIPT .. '\n' .. outcome .. '\n' .. data)
end

function operations.begin_child(run, id, child, task, message, deadline, trace)
  flush(run)
  local action = read_action(run.prefix, run.chain, id)
  put_aside(run.data, id, action.attempt) -- a worker may have asked the hooks, and no worker has it any more
  write_action(run.prefix, run.chain, id, NONE, 0, action.attempt, action.repeatable, STATE.CHILD, NONE)
  if redis.call('EXISTS', row(run.prefix, KEY.CHAIN, child)) == 0 then
    local version = '0-' .. string.match(run.version, '[^-]*$')
    begin_chain(run.prefix, run.at, child, '', version, task, message, deadline, trace)
  end
end

function operations.cancel_child(run, child, message)
  tell(run.prefix, child, message)
end

function operations.report_to_parent(run, action_id, outcome, data, message)
  local parent, name = split(action_id)
  local action, status = read_action(run.prefix, parent, name)
  if action and action.state == STATE.CHILD then
    record(run.prefix, parent, name, status, false, outcome, data, message)
  end
end

function operations.ask_model(run, message)
  add(run.prefix, 'plans', message)
end

function operations.open_request(run, id, question, deadline, rank, message)
  redis.call('HSET', run.head, id, 'open ' .. deadline)
  redis.call('HSET', run.data, id, question)
  redis.call('ZADD', run.prefix .. 'index:requests', rank, run.chain .. '.' .. id)
  add(run.prefix, 'humans', message)
end

function operations.withdraw_request(run, id, message)
  local state = redis.call('HGET', run.head, id) or ''
  if state == 'withdrawn' or string.match(state, '^open ') then
    redis.call('HSET', run.head, id, 'withdrawn')
    redis.call('ZREM', run.prefix .. 'index:requests', run.chain .. '.' .. id)
    add(run.prefix, 'humans', message)
  end
end

-- By pcall: programs outside have this stream too, and what they make of it fails no chain.
function operations.publish_fact(run, age, message)
  redis.pcall('XADD', run.prefix .. 'facts', 'MINID', '~', digits(real_now() - age), '*', '__data__', message)
end

function operations.move_status(run, old, new, at)
  redis.call('ZREM', run.prefix .. 'index:status:' .. old, run.chain)
  redis.call('ZADD', run.prefix .. 'index:status:' .. new, at, run.chain)
end

function operations.set_timer(run, due)
  redis.call('ZADD', run.prefix .. 'timers', due, run.chain)
end

function operations.end_chain(run, retention)
  redis.call('ZREM', run.prefix .. 'timers', run.chain)
  redis.call('EXPIRE', run.head, retention)
  redis.call('EXPIRE', run.data, retention)
  redis.call('EXPIRE', run.log, retention)
  run.retention = tonumber(retention)
end

function operations.fail(_, problem)
  error(problem, 0)
end

local function apply(run, list)
  run.fields = {}
  for _, op in ipairs(list) do
    operations[op[1]](run, unpack(op, 2))
  end
  flush(run)
end

-- The final indexes forget with the chains, a few for each batch in which chains end.
local function forget_old(prefix, oldest)
  for status in pairs(FINAL) do
    local index = prefix .. 'index:status:' .. status
    local old = redis.call('ZRANGEBYSCORE', index, '-inf', oldest, 'LIMIT', 0, STALE_INDEX_BATCH)
    if old[1] then
      redis.call('ZREM', index, unpack(old))
    end
  end
end

-- A child that could not be written reports nothing: what its parent waits for is lost.
local function tell_parent(prefix, chain)
  local parent, step, number = string.match(chain, '^(.*)~([^~]*)%-(%d+)$')
  if parent then
    local report = parent .. '.' .. step .. '.' .. number .. '/child/done'
    redis.pcall('XADD', prefix .. 'events', '*', '__data__', lost(report, parent,
      'the chain ' .. chain .. ' could not be written'))
  end
end

-- A chain that could not be written cannot say what becomes of its children: they go with their parent, as always.
local function dismiss_children(prefix, chain, head)
  local fields = redis.pcall('HGETALL', head) -- of an error it has no length
  for i = 1, #fields, 2 do
    local step, number = string.match(fields[i], '^(.+)%.(%d+)$')
    if step and string.find(fields[i + 1], ' ' .. STATE.CHILD .. ' ', 1, true) then
      local child = chain .. '~' .. step .. '-' .. number
      local status = redis.pcall('HGET', row(prefix, KEY.CHAIN, child), HEAD.STATUS)
      if type(status) == 'string' and not FINAL[status] then
        redis.pcall('XADD', prefix .. 'events', '*', '__data__', envelope(child .. '/cancel', child, 'task.cancelled',
          '{"reason":"the chain that called it could not be written"}'))
      end
    end
  end
end

-- By pcall, each on its own: what made the commit fail may well be one of these keys.
local function quarantine(run, entries, problem)
  local prefix, chain, head = run.prefix, run.chain, run.head
  local open = redis.pcall('HGET', head, HEAD.OPEN)
  local told = '"code":"HP-002","message":"the chain could not be written; its dead letters say why"'
  redis.pcall('HSET', head, HEAD.VERSION, 'quarantined', HEAD.STATUS, 'failed', HEAD.OPEN, '')
  redis.pcall('HSET', run.data, DATA.END, '{"answer":null,"error":{' .. told .. ',"step_id":null}}')
  redis.pcall('RPUSH', run.log,
    '[' .. digits(run.at) .. ',"quarantined",[["chain.failed",{' .. told .. '}]]]')
  redis.pcall('ZREM', prefix .. 'timers', chain)
  for _, status in ipairs(LIVE) do
    redis.pcall('ZREM', prefix .. 'index:status:' .. status, chain)
  end
  redis.pcall('ZADD', prefix .. 'index:status:failed', digits(run.at), chain)
  for number in string.gmatch(type(open) == 'string' and open or '', '%d+') do
    local state = redis.pcall('HGET', head, 'r' .. number)
    if type(state) == 'string' and string.match(state, '^open ') then
      redis.pcall('HSET', head, 'r' .. number, 'withdrawn')
    end
    redis.pcall('ZREM', prefix .. 'index:requests', chain .. '.r' .. number)
  end
  if not string.find(chain, '~', 1, true) then -- NOMKSTREAM: nothing where public facts are off
    redis.pcall('XADD', prefix .. 'facts', 'NOMKSTREAM', '*', '__data__', envelope(chain .. '/chain.failed', chain,
      'chain.failed', '{"chain_id":"' .. chain .. '",' .. told .. '}'))
  end
  tell_parent(prefix, chain)
  dismiss_children(prefix, chain, head)
  for _, entry in ipairs(entries) do
    dead_letter(prefix, 'events', entry, 'quarantined', problem, chain, '')
  end
end

register('commit', function(prefix, args, feed_age, done)
  local run = { prefix = prefix, at = now(prefix), lines = {} }
  local reply, finished, counts = { run.at }, {}, {}
  local first = 3 + tonumber(done)
  for n = 3, first - 1 do
    finished[#finished + 1] = args[n]
  end
  for n = first, #args do
    local chain, expected, following, entries, list, counted = unpack(cmsgpack.unpack(args[n]))
    run.chain, run.version = chain, following
    run.head, run.data, run.log = row(prefix, KEY.CHAIN, chain), row(prefix, KEY.DATA, chain), row(prefix, KEY.LOG, chain)
    local version = redis.call('HGET', run.head, HEAD.VERSION)
    local status = 0
    if version == expected then
      local fine, problem = pcall(apply, run, list)
      if fine then
        for field, by in pairs(counted) do
          counts[field] = (counts[field] or 0) + by
        end
      else
        status = 2
        quarantine(run, entries, type(problem) == 'table' and problem.err or tostring(problem))
      end
    elseif version ~= following then
      status = 1
    end
    if status == 0 then
      for _, entry in ipairs(entries) do
        finished[#finished + 1] = entry
      end
    end
    reply[#reply + 1] = status
  end
  if run.lines[1] then
    write_feed(prefix, feed_age, 'lines', table.concat(run.lines, ' '))
  end
  keep_count(prefix, counts)
  finish_all(prefix, 'events', finished)
  if run.retention then
    forget_old(prefix, digits(run.at - run.retention * 1000))
  end
  return reply
end)
