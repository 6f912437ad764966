-- reap stream group idle: forget the readers of a stream's group that are gone, those that have nothing pending and did not ask for
-- `idle` ms. One that lives after all is made anew by its next read, and has lost nothing. Only here can it be known that nothing is
-- pending. Returns how many.
register('reap', function(prefix, _, stream, group, idle)
  local key, reaped = prefix .. stream, 0
  for _, fields in ipairs(redis.call('XINFO', 'CONSUMERS', key, group)) do
    local reader = {}
    for i = 1, #fields, 2 do
      reader[fields[i]] = fields[i + 1]
    end
    if reader.pending == 0 and reader.idle > tonumber(idle) then
      redis.call('XGROUP', 'DELCONSUMER', key, group, reader.name)
      reaped = reaped + 1
    end
  end
  return reaped
end)
