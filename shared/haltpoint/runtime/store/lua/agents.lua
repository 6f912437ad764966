local TURN_KEPT = 86400 -- seconds in which a chain that is begun again gets the turn that it had

-- take_turn chain: its number among those for which agents take turns, on partition 0 for the whole deployment: 1, 2, 3 ... A chain
-- that asks again gets the same one.
register('take_turn', function(prefix, _, chain)
  local key = prefix .. 'turn:' .. chain
  local had = redis.call('GET', key)
  if had then
    return tonumber(had)
  end
  local number = redis.call('INCR', prefix .. 'turns')
  redis.call('SET', key, number, 'EX', TURN_KEPT)
  return number
end)
