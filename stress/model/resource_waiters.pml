/* The protocol of waiters, threads that release a resource, and threads that stop a wait.
 *
 * It is that of include/lido/resource/idle_cache.hpp, src/concurrency/wait_word.hpp, and
 * pool_waiters.cpp and resource_slots.cpp in src/resource, step by step: one word for each resource, with its mark;
 * one bit for each; the flags; one word for each wait; and a mutex for the queue. Memory is
 * sequentially consistent here; lido_model looks at weaker memory. SPIN explores every order of
 * steps, for any number of preemptions.
 *
 * Each user needs one resource: PATIENT users wait without a limit, one may time out at any moment,
 * and the wait of one is stopped by another process. Running threads may overtake waiters, unless
 * the first is due, which SPIN chooses each time. With -DTURN all are due, and do not look before
 * they sleep, like callbacks. With -DSHRINKS no user waits, and the pool destroys its resources
 * while they are used.
 *
 * Each rule can be broken: -DUNMARKED, -DBLIND_CANCEL, -DSWALLOWED, -DREFUSED, -DIN_FRONT, -DSTAYS,
 * -DUNCALLED, -DKEPT_CALL, -DAWAY, -DUNFLAGGED; with TURN -DUNLOOKED; with SHRINKS -DUNWATCHED and
 * -DLATE_FLAG. SPIN must then find an error. spin.py runs it.
 */

#ifndef RESOURCES
#define RESOURCES 1
#endif
#ifndef PATIENT
#define PATIENT 1
#endif
#define USERS (PATIENT + 2)
#define LATE PATIENT          /* gives up when it times out */
#define STOPPED (PATIENT + 1) /* is stopped from outside */
#define NONE 255
#define OTHER USERS           /* the process that makes the pool smaller */
#define EVERY ((1 << RESOURCES) - 1)
#define is_open(who) (wait_of[who] == waiting || wait_of[who] == asleep)

mtype = { idle, in_use, ended };                /* states of a resource */
mtype = { waiting, asleep, given, cancelled };  /* states of a wait */
mtype = { none, when_due, all };                /* values of the flag */

mtype state[RESOURCES];
bool mark[RESOURCES];  /* of a resource in use: its release calls the kernel */
byte bits = EVERY;       /* resources that may be idle */
byte users[RESOURCES];
mtype flag = none;     /* which releases call the kernel */
byte gate = NONE;      /* the holder of the mutex */

mtype wait_of[USERS];
byte grant[USERS];
bool linked[USERS];
bool awake[USERS];     /* looks before it sleeps */
bool there[USERS];     /* whether what the queue names still exists */
bool registered;       /* whether STOPPED has a stop callback */
byte queue[USERS];
byte length;
byte came[USERS];      /* how many began to wait before it, since the queue was empty */
byte arrivals;
byte left;

inline lock(me) { atomic { gate == NONE -> gate = me } }
inline unlock() { gate = NONE }

/* A release that sees when_due relies on a waiter that is awake. It may call the kernel
 * nevertheless, once the first waiter is due: that is left to SPIN. */
inline set_flag() {
  d_step {
    flag = (length > 0 -> all : none);
    i = 0;
    do
    :: i < length && !awake[queue[i]] -> i++
    :: i < length && awake[queue[i]] -> flag = when_due; break
    :: else -> break
    od;
    i = 0
  }
}

inline unlink(one) {
  d_step {
    if
    :: linked[one] ->
       i = 0;
       do
       :: i < length && queue[i] != one -> i++
       :: else -> break
       od;
       do
       :: i + 1 < length -> queue[i] = queue[i + 1]; i++
       :: else -> break
       od;
       length--;
       queue[length] = NONE;
       linked[one] = false;
       awake[one] = false;
       i = 0
    :: else -> skip
    fi
  }
  set_flag()
}

/* Under the mutex: `me` begins to wait. */
inline enqueue(me) {
  d_step {
    wait_of[me] = waiting;
    there[me] = true;
    arrivals = (length == 0 -> 0 : arrivals);
    came[me] = arrivals;
    arrivals++;
#ifdef IN_FRONT
    i = length;
    do
    :: i > 0 -> queue[i] = queue[i - 1]; i--
    :: else -> break
    od;
    queue[0] = me;
#else
    queue[length] = me;
#endif
    length++;
    linked[me] = true;
#ifndef TURN
    awake[me] = true;
#endif
  }
}

/* A waiter that is handed a resource has no other waiter before it in the queue. */
inline check_turn(one) {
  d_step {
    i = 0;
    do
    :: i < length ->
       assert(came[queue[i]] > came[one] || wait_of[queue[i]] == cancelled);
       i++
    :: else -> break
    od;
    came[one] = 0;
    i = 0
  }
}

/* A compare-and-swap of the word of a wait: ends it unless it has ended. */
inline end_wait(one, how, ok) {
  atomic {
    if
#ifdef BLIND_CANCEL
    :: how == cancelled -> ok = wait_of[one] != given; wait_of[one] = cancelled
    :: how == given && is_open(one) -> wait_of[one] = how; ok = true
#else
    :: is_open(one) -> wait_of[one] = how; ok = true
#endif
    :: else -> ok = false
    fi
  }
}

/* Under the mutex: sets `who` to the first that still waits, or NONE. Others leave the queue. */
inline first_open() {
  who = NONE;
  do
  :: length > 0 ->
     atomic {
       assert(there[queue[0]]);
       head = queue[0];
       if
       :: is_open(head) -> who = head
       :: else -> skip
       fi
     }
     if
     :: who != NONE -> break
     :: else -> unlink(head)
     fi
  :: else -> break
  od
}

/* Under the mutex: takes an idle resource, or NONE. Those in use are marked. */
inline find_fit() {
  have = NONE;
  k = 0;
  do
  :: k < RESOURCES && have == NONE ->
     atomic {
       if
       :: !(bits & (1 << k)) -> skip
       :: (bits & (1 << k)) && state[k] == idle -> state[k] = in_use; mark[k] = false; have = k
       :: else ->
#ifndef UNMARKED
          mark[k] = true;
#endif
          bits = bits & ~(1 << k)
       fi
     }
     k++
  :: else -> break
  od;
  k = 0
}

inline make_idle(what) {
#ifdef REFUSED
  skip
#else
  atomic { state[what] = idle; mark[what] = false }
  bits = bits | (1 << what)
#endif
}

/* Under the mutex: `who` gets a resource, unless its wait has ended at this moment. */
inline hand_over(what, looks) {
  unlink(who);
  grant[who] = what;
  end_wait(who, given, ok);
  if
  :: ok && !looks -> check_turn(who)
  :: else -> came[who] = 0
  fi
}

/* Under the mutex: wakes waiters until as many are awake as resources are idle. */
inline wake_to_look() {
  d_step {
    idles = 0;
    k = 0;
    do
    :: k < RESOURCES ->
       idles = idles + ((bits & (1 << k)) && state[k] == idle -> 1 : 0);
       k++
    :: else -> break
    od;
    k = 0;
    do
    :: k < length -> idles = idles - (awake[queue[k]] -> 1 : 0); k++
    :: else -> break
    od;
    k = 0
  }
#ifndef UNCALLED
  do
  :: k < length && idles > 0 ->
     atomic { /* poke: a compare-and-swap */
       if
       :: wait_of[queue[k]] == asleep -> wait_of[queue[k]] = waiting; awake[queue[k]] = true; idles--
       :: else -> skip
       fi
     }
     k++
  :: else -> break
  od;
  k = 0;
#endif
  idles = 0;
  set_flag()
}

/* Under the mutex: `me` looks for a resource itself, whatever its position in the queue. */
inline look() {
  if
  :: is_open(me) && linked[me] ->
     find_fit();
     if
     :: have != NONE ->
        who = me;
        hand_over(have, true);
        if
        :: ok -> skip
        :: else -> make_idle(have)
        fi
     :: else -> skip
     fi
  :: else -> skip
  fi;
  have = NONE;
  who = NONE
}

/* Under the mutex: idle resources go to waiters that are due, or as many others are woken. */
inline give_idle() {
  do
  :: true ->
     first_open();
     if
     :: who == NONE -> break
#ifndef TURN
     :: who != NONE -> wake_to_look(); break
#endif
     :: who != NONE -> /* it is due */
        find_fit();
        if
        :: have == NONE -> break
        :: else ->
           hand_over(have, false);
           if
           :: ok -> skip
           :: else -> make_idle(have)
           fi
        fi
     fi
  od;
  have = NONE;
  who = NONE
}

/* Under the mutex: a resource that was released with its mark goes to a waiter that is due, or
 * becomes idle. */
inline dispose(what) {
  first_open();
#ifndef TURN
  if
  :: who != NONE -> who = NONE /* it is not due */
  :: true -> skip
  fi;
#endif
  ok = false;
  do
  :: who != NONE && !ok ->
     d_step { /* while others wait, its release is reported by the mark */
       mark[what] = (length > 1);
       bits = (length > 1 -> bits & ~(1 << what) : bits | (1 << what))
     }
     hand_over(what, false);
     if
     :: ok -> skip
     :: else -> first_open()
     fi
  :: else -> break
  od;
  if
  :: !ok -> make_idle(what)
  :: else -> skip
  fi;
  who = NONE
}

inline use(what) {
  users[what]++;
  assert(users[what] == 1); /* no resource has two users */
  users[what]--
}

/* Under the mutex: a pool that has become too small destroys idle resources. */
inline shrink() {
  k = 0;
  do
  :: k < RESOURCES ->
     atomic {
       if
       :: (bits & (1 << k)) && state[k] == idle -> state[k] = ended; bits = bits & ~(1 << k)
       :: else -> skip
       fi
     }
     k++
  :: else -> break
  od;
  k = 0
}

/* Under the mutex, after a release. */
inline match() {
#ifdef SHRINKS
  shrink()
#else
  give_idle()
#endif
}

inline give_back(what) {
  atomic { /* put_back: a compare-and-swap that fails if there is a mark */
    ok = mark[what];
    if
    :: ok -> skip
    :: else -> state[what] = idle
    fi
  }
  if
  :: ok ->
     lock(me);
     dispose(what);
     match();
     unlock()
#ifndef UNWATCHED
  :: !ok && flag != none -> /* all, or when_due and the first waiter is due */
     lock(me);
     match();
     unlock()
  :: !ok && flag == when_due -> skip
#endif
  :: else -> skip
  fi
}

inline look_and_match() {
#ifndef TURN
  look();
#endif
  give_idle()
}

/* Waits until the wait ends. */
inline sleep() {
  do
  :: true ->
#ifndef TURN
     lock(me);
     awake[me] = false;
#ifndef UNFLAGGED
     set_flag();
#endif
#ifndef AWAY
     if
     :: linked[me] -> look_and_match()
     :: else -> skip
     fi;
#endif
#endif
     atomic { /* begin_sleep */
       if
       :: wait_of[me] == waiting -> wait_of[me] = asleep
       :: else -> skip
       fi
     }
#ifndef TURN
     unlock();
#endif
     /* park: until the word has changed, or the time is up */
     if
     :: wait_of[me] != asleep -> skip
     :: me == LATE -> end_wait(me, cancelled, ok)
     fi;
     if
     :: wait_of[me] == given || wait_of[me] == cancelled -> break
     :: else -> skip
     fi
  od
}

proctype user(byte me) {
  byte i = 0, k = 0, head = 0, who = NONE, have = NONE, mine = NONE;
  short idles = 0;
  bool ok = false;

  /* Takes an idle resource, even while others wait. */
  if
  :: true ->
     do
     :: k < RESOURCES && mine == NONE ->
        atomic {
          if
          :: (bits & (1 << k)) && state[k] == idle -> state[k] = in_use; mark[k] = false; mine = k
          :: else -> skip
          fi
        }
        k++
     :: else -> break
     od;
     k = 0
  fi;

  if
#ifdef SHRINKS
  :: mine == NONE -> left++; goto end
#else
  :: mine == NONE ->
     lock(me);
     enqueue(me);
     set_flag();
#ifndef UNLOOKED
     look_and_match();
#endif
     unlock();
     registered = registered || me == STOPPED;
     sleep();
     if
     :: wait_of[me] == given -> mine = grant[me]
     :: else ->
        lock(me);
#ifndef STAYS
        unlink(me);
#endif
        came[me] = 0;
#ifndef KEPT_CALL
        give_idle();
#endif
        unlock()
     fi;
     there[me] = false;
#ifdef SWALLOWED
     if
     :: me == STOPPED -> mine = NONE
     :: else -> skip
     fi
#endif
#endif
  :: else -> skip
  fi;

  if
  :: mine != NONE ->
     use(mine);
     give_back(mine)
  :: else -> assert(me == LATE || me == STOPPED) /* all others get a resource */
  fi;
  left++;
end: skip
}

#ifdef SHRINKS
proctype resizer(byte me) {
  byte k = 0;
  lock(me);
#ifndef LATE_FLAG
  flag = all;
#endif
  shrink();
  flag = all;
  unlock();
  left++
}
#endif

/* A stop token: cancels the wait, if there is one to cancel. */
proctype stopper() {
  bool ok;
  if
  :: registered -> end_wait(STOPPED, cancelled, ok)
  :: left > 0 -> skip
  fi
}

init {
  byte n = 0;
  atomic {
    do
    :: n < RESOURCES -> state[n] = idle; n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < USERS -> queue[n] = NONE; wait_of[n] = waiting; n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < USERS -> run user(n); n++
    :: else -> break
    od;
#ifdef SHRINKS
    run resizer(OTHER);
#else
    run stopper()
#endif
  }
  /* A forgotten waiter never leaves: an invalid end state. */
#ifdef SHRINKS
  left == USERS + 1;
#else
  left == USERS;
#endif
  n = 0;
#ifdef SHRINKS
  do
  :: n < RESOURCES -> assert(state[n] == ended); n++ /* none is kept */
  :: else -> break
  od
#else
  assert(length == 0 && flag == none && bits == EVERY);
  do
  :: n < RESOURCES -> assert(state[n] == idle); n++ /* none is lost */
  :: else -> break
  od
#endif
}
