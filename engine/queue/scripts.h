// What happens on the Redis server in one step. Each takes its keys first; PROTOCOL.md tells when
// each runs.
#pragma once

#include "engine/queue/redis_client.h"

namespace hone::queue::scripts {

/// A new job, once. KEYS jobs, job, job-ids; ARGV id, message, status, priority, most, how long ids
/// are listed [ms], about, owner, hashes of its inputs. -> "ok", "known", "full". Its time is that
/// of its entry: the server's.
extern const RedisScript kSubmit;
/// Room for the inputs that are missing. KEYS inputs; ARGV begin of their keys, most bytes of all,
/// how many at most, time to live of whole ones [s], of others [s], then hash and bytes of each.
/// -> the hashes of those that are missing; "full" and the bytes that are there: there is no room.
extern const RedisScript kOfferInputs;
/// KEYS input; ARGV number, piece, time to live [s]. -> 1; 0: no room was taken for it, or it went.
extern const RedisScript kPutInput;
/// KEYS input; ARGV how many pieces, time to live [s]. -> 1; 0: pieces are missing.
extern const RedisScript kInputWhole;
/// KEYS job, cancelled; ARGV id. -> 1; 0: it has ended; -1: there is none.
extern const RedisScript kCancel;
/// The jobs of the one consumer `leader`. KEYS leader, jobs; ARGV token, from (as XREADGROUP has
/// it).
/// -> entries with `id` and `priority`; -1: deposed. Entries that are none are deleted.
extern const RedisScript kReadJobs;
/// KEYS leader, results; ARGV token, how many, most bytes of a message. -> entries with `id` and
/// `m`; -1: deposed. Larger ones are deleted.
extern const RedisScript kReadResults;
/// KEYS leader, results; ARGV token, entries. -> 1; -1: deposed.
extern const RedisScript kTaken;
/// KEYS leader, fence; ARGV floor, time to live [ms]. -> the token, 0: another leads.
extern const RedisScript kLead;
/// Which database the queue belongs to. KEYS leader, database; ARGV token, id, place, life, term.
/// -> 1; -1: deposed.
extern const RedisScript kOwn;
/// What the leader says of the service. KEYS leader, where it stands; ARGV token, text (empty:
/// nothing), time to live [ms]. -> 1; -1: deposed.
extern const RedisScript kSay;
/// KEYS leader; ARGV token, time to live [ms]. -> 1, 0: no longer.
extern const RedisScript kKeepLeading;
/// KEYS leader; ARGV token.
extern const RedisScript kResign;
/// Evaluations for a pool, each once. KEYS leader, open, work; ARGV token, pool, then id and
/// message of each. -> how many were new; -1: deposed.
extern const RedisScript kGive;
/// KEYS leader, open, results, work…; ARGV token. What an earlier leader asked for is forgotten.
/// -> 1; -1: deposed.
extern const RedisScript kForget;
/// KEYS leader, open; ARGV token, ids. What nobody waits for any more. -> 1; -1: deposed.
extern const RedisScript kDrop;
/// A worker's answer. KEYS open, results, work; ARGV entry, id, message. -> 1; 0: nobody waits.
extern const RedisScript kComplete;
/// A message that nobody could finish. KEYS open, results, work, dead; ARGV entry, id, pool,
/// result, why, most. -> 1; 0: nobody waits.
extern const RedisScript kBury;
/// A worker leaves, unless it holds something: that would go with it. KEYS work; ARGV worker.
extern const RedisScript kLeaveGroup;
/// A dead letter that somebody wanted asked again. KEYS leader, put-back, dead; ARGV token, entry,
/// 1 when it was handed out.
/// -> 1; -1: deposed.
extern const RedisScript kPutBackDone;
/// Of a job that has not ended. KEYS leader, job; ARGV token, status, state. -> 1; -1: deposed.
extern const RedisScript kSetStatus;
/// A job's end. KEYS leader, job, jobs, cancelled; ARGV token, status, state, entry, id,
/// time to live [s], places. -> 1; -1: deposed.
extern const RedisScript kEndJob;

}  // namespace hone::queue::scripts
