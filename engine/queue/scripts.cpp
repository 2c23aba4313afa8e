#include "engine/queue/scripts.h"

namespace hone::queue::scripts {

const RedisScript kSubmit(R"lua(
if redis.call('EXISTS', KEYS[2]) == 1 then return 'known' end
if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[5]) then return 'full' end
redis.call('HSET', KEYS[2], 'message', ARGV[2], 'status', ARGV[3], 'state', 'queued',
           'about', ARGV[7], 'owner', ARGV[8])
if ARGV[9] ~= '' then redis.call('HSET', KEYS[2], 'inputs', ARGV[9]) end
local entry = redis.call('XADD', KEYS[1], '*', 'id', ARGV[1], 'priority', ARGV[4])
local now = string.match(entry, '^%d+')
redis.call('HSET', KEYS[2], 'submitted', now)
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - ARGV[6])
redis.call('ZADD', KEYS[3], now, ARGV[1])
return 'ok'
)lua");

const RedisScript kOfferInputs(R"lua(
local missing = {}
for i = 6, #ARGV, 2 do
  if redis.call('HEXISTS', ARGV[1] .. ARGV[i], 'whole') == 1 then
    redis.call('EXPIRE', ARGV[1] .. ARGV[i], ARGV[4])
  else
    missing[#missing + 1] = i
  end
end
if #missing == 0 then return {} end
local there, bytes, count = {}, 0, 0
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if redis.call('EXISTS', ARGV[1] .. all[i]) == 1 then
    there[all[i]] = true
    bytes = bytes + (tonumber(all[i + 1]) or 0)
    count = count + 1
  else
    redis.call('HDEL', KEYS[1], all[i])
  end
end
local with = bytes
for _, i in ipairs(missing) do
  if not there[ARGV[i]] then
    with = with + tonumber(ARGV[i + 1])
    count = count + 1
  end
end
if with > tonumber(ARGV[2]) or count > tonumber(ARGV[3]) then
  return {'full', string.format('%.0f', bytes)}
end
local hashes = {}
for _, i in ipairs(missing) do
  local key = ARGV[1] .. ARGV[i]
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  redis.call('HSET', key, 'bytes', ARGV[i + 1])
  redis.call('EXPIRE', key, ARGV[5])
  hashes[#hashes + 1] = ARGV[i]
end
return hashes
)lua");

const RedisScript kPutInput(R"lua(
if redis.call('HEXISTS', KEYS[1], 'bytes') == 0 then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if redis.call('HEXISTS', KEYS[1], 'whole') == 0 then redis.call('EXPIRE', KEYS[1], ARGV[3]) end
return 1
)lua");

const RedisScript kInputWhole(R"lua(
if redis.call('HEXISTS', KEYS[1], 'whole') == 0 then
  for i = 0, ARGV[1] - 1 do
    if redis.call('HEXISTS', KEYS[1], tostring(i)) == 0 then return 0 end
  end
  redis.call('HSET', KEYS[1], 'whole', '1')
end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
)lua");

const RedisScript kCancel(R"lua(
local state = redis.call('HGET', KEYS[1], 'state')
if not state then return -1 end
if state == 'done' or state == 'failed' or state == 'cancelled' then return 0 end
redis.call('SADD', KEYS[2], ARGV[1])
return 1
)lua");

const RedisScript kReadJobs(R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
local read = redis.call('XREADGROUP', 'GROUP', 'coordinators', 'leader', 'COUNT', 1000,
                        'STREAMS', KEYS[2], ARGV[2])
local jobs = {}
if not read then return jobs end
for _, entry in ipairs(read[1][2]) do
  local id, priority = '', '0'
  for i = 1, #(entry[2] or {}), 2 do
    if entry[2][i] == 'id' then id = entry[2][i + 1] end
    if entry[2][i] == 'priority' then priority = entry[2][i + 1] end
  end
  if #id == 0 or #id > 80 or #priority > 8 then
    redis.call('XACK', KEYS[2], 'coordinators', entry[1])
    redis.call('XDEL', KEYS[2], entry[1])
  else
    jobs[#jobs + 1] = {entry[1], {'id', id, 'priority', priority}}
  end
end
return jobs
)lua");

const RedisScript kReadResults(R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
local results, bytes = {}, 0
for _, entry in ipairs(redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', ARGV[2])) do
  local id, message = '', ''
  for i = 1, #entry[2], 2 do
    if entry[2][i] == 'id' then id = entry[2][i + 1] end
    if entry[2][i] == 'm' then message = entry[2][i + 1] end
  end
  if #id > 80 or #message > tonumber(ARGV[3]) then
    redis.call('XDEL', KEYS[2], entry[1])
  else
    bytes = bytes + #message
    if bytes > 4 * tonumber(ARGV[3]) then break end
    results[#results + 1] = {entry[1], {'id', id, 'm', message}}
  end
end
return results
)lua");

const RedisScript kTaken(R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
for i = 2, #ARGV do redis.call('XDEL', KEYS[2], ARGV[i]) end
return 1
)lua");

const RedisScript kLead(R"lua(
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local token = tonumber(redis.call('GET', KEYS[2]) or '0')
local floor = tonumber(ARGV[1])
if token < floor then token = floor end
token = token + 1
redis.call('SET', KEYS[2], token)
redis.call('SET', KEYS[1], token, 'PX', ARGV[2])
return token
)lua");

const RedisScript kOwn(R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
redis.call('HSET', KEYS[2], 'id', ARGV[2], 'place', ARGV[3], 'life', ARGV[4], 'term', ARGV[5])
return 1
)lua");

const RedisScript kSay(R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
if ARGV[2] == '' then redis.call('DEL', KEYS[2])
else redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3]) end
return 1
)lua");

const RedisScript kKeepLeading(R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
)lua");

const RedisScript kResign(R"lua(
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
)lua");

const RedisScript kGive(R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
local new = 0
for i = 3, #ARGV, 2 do
  if redis.call('HSETNX', KEYS[2], ARGV[i], ARGV[2]) == 1 then
    redis.call('XADD', KEYS[3], '*', 'id', ARGV[i], 'm', ARGV[i + 1])
    new = new + 1
  end
end
if string.find(KEYS[3], '@', 1, true) and redis.call('PTTL', KEYS[3]) == -1 then
  redis.call('PEXPIRE', KEYS[3], 3600000)
end
return new
)lua");

const RedisScript kForget(R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
for i = 2, #KEYS do redis.call('DEL', KEYS[i]) end
return 1
)lua");

const RedisScript kDrop(R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
for i = 2, #ARGV do redis.call('HDEL', KEYS[2], ARGV[i]) end
return 1
)lua");

const RedisScript kComplete(R"lua(
redis.call('XACK', KEYS[3], 'workers', ARGV[1])
redis.call('XDEL', KEYS[3], ARGV[1])
if redis.call('HDEL', KEYS[1], ARGV[2]) == 0 then return 0 end
redis.call('XADD', KEYS[2], '*', 'id', ARGV[2], 'm', ARGV[3])
return 1
)lua");

const RedisScript kBury(R"lua(
redis.call('XACK', KEYS[3], 'workers', ARGV[1])
redis.call('XDEL', KEYS[3], ARGV[1])
if redis.call('HDEL', KEYS[1], ARGV[2]) == 0 then return 0 end
redis.call('XADD', KEYS[4], 'MAXLEN', ARGV[6], '*', 'id', ARGV[2], 'pool', ARGV[3],
           'why', ARGV[5])
redis.call('XADD', KEYS[2], '*', 'id', ARGV[2], 'm', ARGV[4])
return 1
)lua");

const RedisScript kLeaveGroup(R"lua(
local held = redis.pcall('XPENDING', KEYS[1], 'workers', '-', '+', 1, ARGV[1])
if held.err or #held > 0 then return 0 end
redis.call('XGROUP', 'DELCONSUMER', KEYS[1], 'workers', ARGV[1])
return 1
)lua");

const RedisScript kPutBackDone(R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
redis.call('SREM', KEYS[2], ARGV[2])
if ARGV[3] == '1' then redis.call('XDEL', KEYS[3], ARGV[2]) end
return 1
)lua");

const RedisScript kSetStatus(R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
local state = redis.call('HGET', KEYS[2], 'state')
if not state or state == 'done' or state == 'failed' or state == 'cancelled' then return 1 end
redis.call('HSET', KEYS[2], 'status', ARGV[2], 'state', ARGV[3])
return 1
)lua");

const RedisScript kEndJob(R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
local state = redis.call('HGET', KEYS[2], 'state')
if state ~= 'done' and state ~= 'failed' and state ~= 'cancelled' then
  redis.call('HSET', KEYS[2], 'status', ARGV[2], 'state', ARGV[3], 'places', ARGV[7])
end
redis.call('HDEL', KEYS[2], 'message')
redis.call('EXPIRE', KEYS[2], ARGV[6])
redis.call('XACK', KEYS[3], 'coordinators', ARGV[4])
redis.call('XDEL', KEYS[3], ARGV[4])
redis.call('SREM', KEYS[4], ARGV[5])
return 1
)lua");

}  // namespace hone::queue::scripts
