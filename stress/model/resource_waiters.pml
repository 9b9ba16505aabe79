/* How those who wait for a resource, those who give one back, and those who stop a wait agree.
 *
 * The protocol of src/resource/resource_waiter.cpp, resource_serve.cpp and resource_acquire.cpp, step by
 * step: one word for each resource, one for each wait, one that counts those who wait, and a mutex
 * for the queue. Memory is sequentially consistent here; what weaker memory does is for lido_model.
 * SPIN goes through every order of steps, for any number of preemptions.
 *
 * Users of one resource each: PATIENT that wait for as long as it takes, one whose time may be over
 * at any moment, one whose wait is stopped by another process. Each rule can be broken: -DUNWATCHED,
 * -DUNLOOKED, -DBLIND_CANCEL, -DSWALLOWED, -DREFUSED, -DIN_FRONT; SPIN then finds what goes wrong.
 * spin.py runs it.
 */

#ifndef RESOURCES
#define RESOURCES 1
#endif
#ifndef PATIENT
#define PATIENT 1
#endif
#define USERS (PATIENT + 2)
#define LATE PATIENT          /* gives up when its time is over */
#define STOPPED (PATIENT + 1) /* is stopped from outside */
#define NONE 255

mtype = { idle, in_use };                       /* of a resource */
mtype = { waiting, asleep, given, cancelled };  /* of a wait */

mtype place[RESOURCES];
byte users[RESOURCES];
byte waits;            /* attention: how many are in the queue */
byte gate = NONE;      /* who has the mutex */

mtype wait_of[USERS];
byte grant[USERS];
bool linked[USERS];
bool registered;       /* the stop callback of STOPPED */
byte queue[USERS];
byte length;
byte came[USERS];      /* how many had begun to wait before it, since the queue was empty */
byte arrivals;
byte served, left;

inline lock(me) { atomic { gate == NONE -> gate = me } }
inline unlock() { gate = NONE }

inline unlink(who) {
  d_step {
    if
    :: linked[who] ->
       i = 0;
       do
       :: i < length && queue[i] != who -> i++
       :: else -> break
       od;
       do
       :: i + 1 < length -> queue[i] = queue[i + 1]; i++
       :: else -> break
       od;
       length--;
       queue[length] = NONE;
       linked[who] = false;
       waits--;
       i = 0
    :: else -> skip
    fi
  }
}

/* Under the mutex: `me` begins to wait. */
inline enqueue(me) {
  atomic {
    wait_of[me] = waiting;
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
    waits++
  }
}

/* Who is given something is behind nobody that still waits. */
inline check_turn(who) {
  d_step {
    i = 0;
    do
    :: i < length ->
       assert(came[queue[i]] > came[who] || wait_of[queue[i]] == cancelled);
       i++
    :: else -> break
    od;
    came[who] = 0;
    i = 0
  }
}

/* A compare-and-swap of the word of a wait: ends it unless it has ended. */
inline end_wait(who, how, ok) {
  atomic {
    if
#ifdef BLIND_CANCEL
    :: how == cancelled -> ok = wait_of[who] != given; wait_of[who] = cancelled
    :: how == given && (wait_of[who] == waiting || wait_of[who] == asleep) -> wait_of[who] = how; ok = true
#else
    :: wait_of[who] == waiting || wait_of[who] == asleep -> wait_of[who] = how; ok = true
#endif
    :: else -> ok = false
    fi
  }
}

/* Under the mutex: idle resources go to those who wait. `only`: that one, or NONE for all. */
inline match(only) {
  have = NONE;
  do
  :: length > 0 ->
     who = queue[0];
     if
     :: wait_of[who] == given || wait_of[who] == cancelled -> unlink(who) /* has ended: out of the queue */
     :: else ->
        if
        :: have == NONE ->
           k = (only == NONE -> 0 : only);
           do
           :: k < RESOURCES ->
              atomic { /* lend: a compare-and-swap */
                if
                :: place[k] == idle -> place[k] = in_use; have = k
                :: else -> skip
                fi
              }
              if
              :: have != NONE || only != NONE -> break
              :: else -> k++
              fi
           :: else -> break
           od
        :: else -> skip
        fi;
        if
        :: have == NONE -> break
        :: else ->
           unlink(who);
           grant[who] = have;
           end_wait(who, given, ok);
           if
           :: ok ->
              check_turn(who);
              have = NONE;
              if
              :: only != NONE -> break
              :: else -> skip
              fi
           :: else -> skip
           fi
        fi
     fi
  :: else -> break
  od;
#ifndef REFUSED
  if
  :: have != NONE -> place[have] = idle; have = NONE
  :: else -> skip
  fi
#else
  have = NONE
#endif
}

inline use(what) {
  users[what]++;
  assert(users[what] == 1); /* no resource has two users */
  users[what]--
}

inline give_back(what) {
  place[what] = idle; /* put_back */
  if
#ifndef UNWATCHED
  :: waits > 0 ->
     lock(me);
     match(what);
     unlock()
#endif
  :: else -> skip
  fi
}

proctype user(byte me) {
  byte i = 0, k = 0, who = 0, have = NONE, mine = NONE;
  bool ok = false;

  /* take_idle: who comes while others wait goes to the queue. */
  if
  :: waits == 0 ->
     do
     :: k < RESOURCES ->
        atomic {
          if
          :: place[k] == idle -> place[k] = in_use; mine = k
          :: else -> skip
          fi
        }
        if
        :: mine != NONE -> break
        :: else -> k++
        fi
     :: else -> break
     od
  :: else -> skip
  fi;

  if
  :: mine == NONE ->
     lock(me);
     ok = (length == 0); /* whoever stands in front has looked already */
     enqueue(me);
#ifndef UNLOOKED
     if
     :: ok -> match(NONE)
     :: else -> skip
     fi;
#endif
     unlock();
     registered = registered || me == STOPPED;

     atomic { /* begin_sleep */
       if
       :: wait_of[me] == waiting -> wait_of[me] = asleep
       :: else -> skip
       fi
     }
     /* park: until the word says otherwise, or the time is over */
     if
     :: wait_of[me] == given || wait_of[me] == cancelled -> skip
     :: me == LATE -> end_wait(me, cancelled, ok)
     fi;
     atomic { wait_of[me] == given || wait_of[me] == cancelled };
     if
     :: wait_of[me] == given -> mine = grant[me]
     :: else ->
        lock(me);
        unlink(me);
        came[me] = 0;
        unlock()
     fi
#ifdef SWALLOWED
     ;
     if
     :: me == STOPPED -> mine = NONE
     :: else -> skip
     fi
#endif
  :: else -> skip
  fi;

  if
  :: mine != NONE ->
     use(mine);
     served++;
     give_back(mine)
  :: else -> assert(me == LATE || me == STOPPED) /* nobody else goes without */
  fi;
  left++
}

/* A stop token: cancels the wait, if it is there to be cancelled. */
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
    :: n < RESOURCES -> place[n] = idle; n++
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
    run stopper()
  }
  /* A waiter that is forgotten never leaves: an invalid end state. */
  left == USERS;
  assert(length == 0 && waits == 0);
  n = 0;
  do
  :: n < RESOURCES -> assert(place[n] == idle); n++ /* none is lost */
  :: else -> break
  od
}
