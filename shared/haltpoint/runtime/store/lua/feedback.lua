local MOST_FEEDBACK = 100

-- feedback chain head tail field: write down what a person says of a chain, as a line of its log: head .. the time in ms .. tail.
-- `field` is the day's counter for it, '' for none. Returns the line's place in the log | unknown (no such chain) | full (there is no
-- room for more).
register('feedback', function(prefix, _, chain, head, tail, field)
  local log = row(prefix, KEY.LOG, chain)
  if redis.call('EXISTS', log) == 0 then
    return 'unknown'
  end
  local given = redis.call('HINCRBY', row(prefix, KEY.CHAIN, chain), HEAD.FEEDBACK, 1)
  if given > MOST_FEEDBACK then
    return 'full'
  end
  local length = redis.call('RPUSH', log, head .. digits(now(prefix)) .. tail)
  if field ~= '' then
    keep_count(prefix, { [field] = 1 })
  end
  write_feed(prefix, DAY, 'lines', chain .. ':' .. length - 1)
  return digits(length - 1)
end)
