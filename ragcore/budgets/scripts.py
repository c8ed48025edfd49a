"""What is done with the counts of a day, each in one step."""

# KEYS: the counts (a hash: `used`, `held`, `largest` call, `counted`, each question's estimate and total), the times at
# which the estimates end (a sorted set).
_RELEASE = """
local function release(question)
  local estimate = redis.call('HGET', KEYS[1], 'estimate:' .. question)
  if estimate then
    redis.call('HINCRBY', KEYS[1], 'held', -tonumber(estimate))
    redis.call('HDEL', KEYS[1], 'estimate:' .. question)
  end
  redis.call('ZREM', KEYS[2], question)
end
local function number(name) return tonumber(redis.call('HGET', KEYS[1], name) or 0) end
local function keep(seconds)
  redis.call('EXPIRE', KEYS[1], seconds)
  redis.call('EXPIRE', KEYS[2], seconds)
end
"""
# ARGV: question, its estimate, the limit or -1, ms that a call may last, seconds that it is kept. Gives a Hold. An
# estimate that nobody settled ends: its worker was killed. One that would end too late is of a clock set back since.
RESERVE = f"""{_RELEASE}
if redis.call('HEXISTS', KEYS[1], 'counted') == 0 then return 'uncounted' end
local question, limit, lasts = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, ended in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now)) do release(ended) end
for _, ahead in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. now + lasts, '+inf')) do release(ahead) end
release(question)
if limit >= 0 and number('used') >= limit then return 'spent' end
if limit >= 0 and number('used') + number('held') >= limit then return 'busy' end
local estimate = math.max(tonumber(ARGV[2]), number('largest'))
redis.call('HSET', KEYS[1], 'estimate:' .. question, estimate)
redis.call('HINCRBY', KEYS[1], 'held', estimate)
redis.call('ZADD', KEYS[2], now + lasts, question)
keep(ARGV[5])
return 'held'
"""
# ARGV: question, the total of its tokens, seconds that it is kept. A total that is smaller than before changes nothing.
SETTLE = f"""{_RELEASE}
local question = ARGV[1]
release(question)
local more = tonumber(ARGV[2]) - number('total:' .. question)
if more > 0 then
  redis.call('HSET', KEYS[1], 'total:' .. question, ARGV[2])
  redis.call('HINCRBY', KEYS[1], 'used', more)
  if more > number('largest') then redis.call('HSET', KEYS[1], 'largest', more) end
  keep(ARGV[3])
end
"""
# KEYS: the questions of a surface. ARGV: question, the limit or -1, seconds that it is kept. Whether it is answered.
COUNT = """
if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 1 then return 1 end
if tonumber(ARGV[2]) >= 0 and redis.call('SCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('SADD', KEYS[1], ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 1
"""
