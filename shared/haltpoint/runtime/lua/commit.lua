--[[
hp1_commit feed_age done entry... [size chain expected new acks entry... op...]...

The executor's one way to change chains: a batch of one partition, each chain whole or not at all.
  feed_age  ms that facts stay in the feed
  done      number of entries of the events stream that follow and are finished in any case
  size      number of arguments of this chain after `size`
  expected  the version that was decided on; new: the version after it (equal: the decision changed nothing)
  acks      number of entries of the events stream that follow and are finished with this chain
Operations, each a letter and its arguments:
  H n (field value)*           fields of the chain's hash, n counts both; at most a few hundred
  S name value                 a key of the partition, by its name without the prefix
  L at head facts              a line of the log, {"at":<at><head>,"facts":<facts>}; the feed tells it, but for '[]'
  A again id queue step n tool attempt repeatable arguments message    dispatch: the action's hash, its entry, its message
                               again '1': the worker's mark, receipt and doubt move to fields with the former attempt
  X stream message             a message to `plans`
  O age message                a public fact (contracts/public_facts.py) that stays for `age` ms
  R id question deadline chain place message     open a request, tell the gateway; place: in the inbox's order
  W id message                 withdraw a request, unless it was answered or has expired
  N id step n tool arguments   write an action down that no worker is asked to do
  B action child task head deadline trace    begin the chain that carries out an action (written down by N, or passed by a
                               worker, whose receipt moves to a field with the attempt), as
                               `submit` does; nothing when there is one. head: its task.submitted
  D child message              dismiss a child that is not over: the message to it
  P action outcome data message    this chain is a child and over: the receipt of the action that it carried out, once,
                               and the word to the parent, unless that is over
  E action outcome data        settle an action: outcome and data as a person completed them
  K n (field by)*              add to the day's counters, n counts both; once for the whole batch
  I old new at                 the chain moves between the status indexes (score: since when)
  T due                        the chain's timer
  F retention n name...        the chain is final: all its keys expire after `retention` s, its timer goes
  Q problem                    raises it: a chain that the executor could not put into words is a fault too
The feed gets one entry for the whole batch: `chains`, the ids of the chains that it tells of, with blanks between, and
`lines`, a JSON array with {"chain","n","at","facts"} for each line of a log, n its place in the log.
Returns {now, status...}: 0 ok | 1 conflict (nothing written) | 2 fault. A repeat of a commit that was applied finds
`new` in the chain and is ok. A fault is an error after the first write: the chain has failed and says so, its version
is "fault", which no commit can expect, and its timer and questions go; each of its entries goes to the dead letters
with its bytes, and is acknowledged.
]]
local DAYS_KEPT = 31 -- of counters: a month and the day that has begun
local STALE_INDEX_BATCH = 200 -- more than the chains that can end in one batch

local operations = {}

function operations.H(run, args, i)
  local last = i + 1 + tonumber(args[i + 1])
  redis.call('HSET', run.key, unpack(args, i + 2, last))
  return last + 1
end

function operations.S(run, args, i)
  redis.call('SET', run.prefix .. args[i + 1], args[i + 2])
  return i + 3
end

function operations.L(run, args, i)
  local at, facts = args[i + 1], args[i + 3]
  local line = '{"at":' .. at .. args[i + 2] .. ',"facts":' .. facts .. '}'
  local length = redis.call('RPUSH', run.prefix .. 'log:' .. run.chain, line)
  if facts ~= '[]' then
    local chains, lines = run.chains, run.lines
    if chains[#chains] ~= run.chain then
      chains[#chains + 1] = run.chain
    end
    lines[#lines + 1] = '{"chain":"' .. run.chain .. '","n":' .. length - 1
      .. ',"at":' .. at .. ',"facts":' .. facts .. '}'
  end
  return i + 4
end

local function feed(run, age)
  if run.lines[1] then
    redis.call('XADD', run.prefix .. 'feed', 'MINID', '~', digits(real_now() - tonumber(age)), '*',
      'chains', table.concat(run.chains, ' '), 'lines', '[' .. table.concat(run.lines, ',') .. ']')
  end
end

-- A second run of an action under its id: what the first one left stays readable, by its attempt.
local function put_aside(key)
  local old = redis.call('HMGET', key, 'attempt', 'receipt', 'data', 'doubt')
  for n, name in ipairs({ 'receipt', 'data', 'doubt' }) do
    if old[n + 1] then
      redis.call('HSET', key, name .. '.' .. old[1], old[n + 1])
    end
  end
  redis.call('HDEL', key, 'receipt', 'data', 'doubt', 'started', 'owner', 'settled', 'settled_data')
end

function operations.A(run, args, i)
  local key = run.prefix .. 'action:' .. args[i + 2]
  if args[i + 1] == '1' then
    put_aside(key)
  end
  local arguments = args[i + 9]
  local entry = add(run.prefix, 'tools:' .. args[i + 3], args[i + 10], arguments)
  redis.call('HSET', key, 'step', args[i + 4], 'n', args[i + 5], 'tool', args[i + 6],
    'attempt', args[i + 7], 'repeatable', args[i + 8], 'args', arguments, 'entry', entry, 'epoch', '0')
  return i + 11
end

function operations.N(run, args, i)
  redis.call('HSET', run.prefix .. 'action:' .. args[i + 1], 'step', args[i + 2], 'n', args[i + 3], 'tool', args[i + 4],
    'attempt', '1', 'repeatable', '0', 'args', args[i + 5], 'epoch', '0')
  return i + 6
end

function operations.B(run, args, i)
  local key, child = run.prefix .. 'action:' .. args[i + 1], args[i + 2]
  if redis.call('HEXISTS', key, 'receipt') == 1 then -- a worker has asked the hooks, and no worker has it any more
    put_aside(key)
    redis.call('HDEL', key, 'entry')
  end
  redis.call('HSET', key, 'child', child)
  redis.call('HSET', run.key, 'child', string.sub(child, #run.chain + 2)) -- the last one, for `dismiss_child`
  if redis.call('EXISTS', run.prefix .. 'chain:' .. child) == 0 then
    local version = '0-' .. string.match(run.version, '[^-]*$')
    begin_chain(run.prefix, run.at, child, '', version, args[i + 3], args[i + 4], args[i + 5], args[i + 6])
  end
  return i + 7
end

function operations.D(run, args, i)
  local status = redis.call('HGET', run.prefix .. 'chain:' .. args[i + 1], 'status')
  if status and not FINAL[status] then
    add(run.prefix, 'events', args[i + 2])
  end
  return i + 3
end

function operations.P(run, args, i)
  local action = args[i + 1]
  local is = redis.call('HMGET', run.prefix .. 'action:' .. action, 'child', 'receipt')
  if is[1] == run.chain and not is[2] then
    record(run.prefix, action, 'receipt', args[i + 2], args[i + 3])
    if not is_final(run.prefix, chain_of(action)) then
      add(run.prefix, 'events', args[i + 4], args[i + 3])
    end
  end
  return i + 5
end

function operations.X(run, args, i)
  add(run.prefix, args[i + 1], args[i + 2])
  return i + 3
end

-- By pcall: programs outside have this stream too, and what they make of it fails no chain.
function operations.O(run, args, i)
  redis.pcall('XADD', run.prefix .. 'facts', 'MINID', '~', digits(real_now() - tonumber(args[i + 1])), '*',
    '__data__', args[i + 2])
  return i + 3
end

function operations.R(run, args, i)
  local id, place = args[i + 1], args[i + 5]
  redis.call('HSET', run.prefix .. 'request:' .. id, 'question', args[i + 2], 'status', 'open',
    'deadline', args[i + 3], 'chain', args[i + 4])
  redis.call('ZADD', run.prefix .. 'index:requests', place, id)
  add(run.prefix, 'humans', args[i + 6])
  return i + 7
end

function operations.W(run, args, i)
  local key = run.prefix .. 'request:' .. args[i + 1]
  if redis.call('HGET', key, 'status') == 'open' then
    redis.call('HSET', key, 'status', 'withdrawn')
    redis.call('ZREM', run.prefix .. 'index:requests', args[i + 1])
    add(run.prefix, 'humans', args[i + 2])
  end
  return i + 3
end

function operations.E(run, args, i)
  redis.call('HSET', run.prefix .. 'action:' .. args[i + 1], 'settled', args[i + 2], 'settled_data', args[i + 3])
  return i + 4
end

function operations.K(run, args, i)
  local counts, last = run.counts, i + 1 + tonumber(args[i + 1])
  for n = i + 2, last, 2 do
    counts[args[n]] = (counts[args[n]] or 0) + tonumber(args[n + 1])
  end
  return last + 1
end

-- A day's counters in one hash; a field that is new may be the first of its day.
local function keep_count(run)
  local key = run.prefix .. 'stats:' .. math.floor(real_now() / DAY)
  for field, by in pairs(run.counts) do
    if redis.call('HINCRBY', key, field, by) == by then
      redis.call('EXPIRE', key, DAYS_KEPT * DAY / 1000)
    end
  end
end

function operations.I(run, args, i)
  redis.call('ZREM', run.prefix .. 'index:status:' .. args[i + 1], run.chain)
  redis.call('ZADD', run.prefix .. 'index:status:' .. args[i + 2], args[i + 3], run.chain)
  return i + 4
end

function operations.T(run, args, i)
  redis.call('ZADD', run.prefix .. 'timers', args[i + 1], run.chain)
  return i + 2
end

function operations.F(run, args, i)
  local retention, last = args[i + 1], i + 2 + tonumber(args[i + 2])
  redis.call('ZREM', run.prefix .. 'timers', run.chain)
  for n = i + 3, last do
    redis.call('EXPIRE', run.prefix .. args[n], retention)
  end
  run.retention = tonumber(retention)
  return last + 1
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

function operations.Q(_, args, i)
  error(args[i + 1], 0)
end

local function apply(run, args, i, last)
  while i <= last do
    i = operations[args[i]](run, args, i)
  end
end

local LIVE = { 'accepted', 'planning', 'executing', 'awaiting_clarification', 'awaiting_confirmation',
  'awaiting_input', 'escalated' }

-- A child that could not be written reports nothing: what its parent waits for is lost.
local function tell_parent(prefix, chain)
  local parent, step, number = string.match(chain, '^(.*)~([^~]*)%-(%d+)$')
  if parent then
    local action = parent .. '.' .. step .. '.' .. number
    redis.pcall('XADD', prefix .. 'events', '*', '__data__', '{"specversion":"1.0","id":"' .. action .. '/child/done/lost",'
      .. '"source":"haltpoint/executor","subject":"' .. parent .. '","type":"message.lost.v1","data":{"message_id":"'
      .. action .. '/child/done","reason":"the chain ' .. chain .. ' could not be written"}}')
  end
end

-- A chain that could not be written cannot say what becomes of its child: it goes with its parent, as always.
local function dismiss_child(prefix, chain, key)
  local place = redis.pcall('HGET', key, 'child')
  if type(place) ~= 'string' then
    return
  end
  local child = chain .. '~' .. place
  local status = redis.pcall('HGET', prefix .. 'chain:' .. child, 'status')
  if type(status) == 'string' and not FINAL[status] then
    redis.pcall('XADD', prefix .. 'events', '*', '__data__', '{"specversion":"1.0","id":"' .. child .. '/cancel",'
      .. '"source":"haltpoint/executor","subject":"' .. child .. '","type":"task.cancelled.v1","data":{"reason":'
      .. '"the chain that called it could not be written"}}')
  end
end

-- By pcall, each on its own: what made the commit fail may well be one of these keys.
local function quarantine(run, args, first, last, problem)
  local prefix, chain = run.prefix, run.chain
  local open = redis.pcall('HGET', run.key, 'open')
  local told = '"code":"HP-002","message":"the chain could not be written; its dead letters say why"'
  redis.pcall('HSET', run.key, 'ver', 'fault', 'status', 'failed', 'open', '')
  redis.pcall('SET', prefix .. 'end:' .. chain, '{"answer":null,"error":{' .. told .. ',"step_id":null}}')
  redis.pcall('RPUSH', prefix .. 'log:' .. chain,
    '{"at":' .. digits(run.at) .. ',"type":"fault","facts":[["chain.failed",{' .. told .. '}]]}')
  redis.pcall('ZREM', prefix .. 'timers', chain)
  for _, status in ipairs(LIVE) do
    redis.pcall('ZREM', prefix .. 'index:status:' .. status, chain)
  end
  redis.pcall('ZADD', prefix .. 'index:status:failed', digits(run.at), chain)
  for number in string.gmatch(type(open) == 'string' and open or '', '%d+') do
    local request = chain .. '.r' .. number
    if redis.pcall('HGET', prefix .. 'request:' .. request, 'status') == 'open' then
      redis.pcall('HSET', prefix .. 'request:' .. request, 'status', 'withdrawn')
    end
    redis.pcall('ZREM', prefix .. 'index:requests', request)
  end
  if not string.find(chain, '~', 1, true) then -- NOMKSTREAM: nothing where public facts are off
    redis.pcall('XADD', prefix .. 'facts', 'NOMKSTREAM', '*', '__data__', '{"specversion":"1.0","id":"' .. chain
      .. '/chain.failed","source":"haltpoint/executor","subject":"' .. chain .. '","type":"chain.failed.v1","data":'
      .. '{"chain_id":"' .. chain .. '",' .. told .. '}}')
  end
  tell_parent(prefix, chain)
  dismiss_child(prefix, chain, run.key)
  for n = first, last do
    bury(prefix, 'events', args[n], 'fault', problem, chain, '')
  end
end

register('commit', function(keys, args)
  local prefix = prefix_of(keys)
  local at = now(prefix)
  local run = { prefix = prefix, at = at, chains = {}, lines = {}, counts = {} }
  local reply, finished = { at }, {}
  local i = 3 + tonumber(args[2])
  for n = 3, i - 1 do
    finished[#finished + 1] = args[n]
  end
  local count = #args
  while i <= count do
    local last = i + tonumber(args[i])
    local chain, acks = args[i + 1], i + 5
    local key = prefix .. 'chain:' .. chain
    local first_op = acks + tonumber(args[i + 4])
    local version = redis.call('HGET', key, 'ver')
    local status = 0
    if version == args[i + 2] then
      run.chain, run.key, run.version = chain, key, args[i + 3]
      local fine, problem = pcall(apply, run, args, first_op, last)
      if not fine then
        status = 2
        quarantine(run, args, acks, first_op - 1, type(problem) == 'table' and problem.err or tostring(problem))
      end
    elseif version ~= args[i + 3] then
      status = 1
    end
    if status == 0 then
      for n = acks, first_op - 1 do
        finished[#finished + 1] = args[n]
      end
    end
    reply[#reply + 1] = status
    i = last + 1
  end
  feed(run, args[1])
  keep_count(run)
  finish_all(prefix, 'events', finished)
  if run.retention then
    forget_old(prefix, digits(at - run.retention * 1000))
  end
  return reply
end)
