--[[
hp3_feedback chain head tail field

Write down what a person says of a chain, as a line of its log: head .. the time in ms .. tail. `field` is the day's counter
for it, '' for none. Returns the line's place in the log | unknown (no such chain) | full (there is no room for more).
]]
local MOST_FEEDBACK = 100

register('feedback', function(keys, args)
  local prefix, chain = prefix_of(keys), args[1]
  local head, log = row(prefix, KEY.CHAIN, chain), row(prefix, KEY.LOG, chain)
  if redis.call('EXISTS', log) == 0 then
    return 'unknown'
  end
  local given = redis.call('HINCRBY', head, HEAD.FEEDBACK, 1)
  if given > MOST_FEEDBACK then
    return 'full'
  end
  local length = redis.call('RPUSH', log, args[2] .. digits(now(prefix)) .. args[3])
  if args[4] ~= '' then
    keep_count(prefix, { [args[4]] = 1 })
  end
  write_feed({ prefix = prefix, lines = { chain .. ':' .. length - 1 } }, DAY)
  return digits(length - 1)
end)
