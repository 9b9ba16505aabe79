import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.PrintWriter;
import java.sql.Connection;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.apache.commons.pool2.BasePooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.apache.commons.pool2.impl.GenericObjectPool;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;

/**
 * Connection pools of the JVM over a driver that does nothing, measured as bench/resource.cpp measures
 * its own: 8 connections, wall time of all threads for one acquire and release, after a warm-up. One
 * line for each pool: its name and nanoseconds for 1, 2 and 8 threads.
 */
public final class PoolBench {
  private static final int CONNECTIONS = 8;
  private static final int[] THREADS = {1, 2, 8};

  private static volatile boolean over;

  interface Pool extends AutoCloseable {
    String name();

    void withOne() throws Exception;

    @Override
    void close();
  }

  /** Its defaults: an idle time, a life time and a look at each connection not used for half a second. */
  static final class Hikari implements Pool {
    private final HikariDataSource source;

    Hikari() {
      HikariConfig config = new HikariConfig();
      config.setDataSource(new StubSource());
      config.setMaximumPoolSize(CONNECTIONS);
      source = new HikariDataSource(config);
    }

    @Override public String name() { return "hikaricp"; }

    @Override
    public void withOne() throws Exception {
      try (Connection connection = source.getConnection()) {
        connection.getHoldability();
      }
    }

    @Override public void close() { source.close(); }
  }

  /** Its defaults, but for JMX: ages are kept, nothing is validated on the way out. */
  static final class Commons implements Pool {
    private final GenericObjectPool<StubConnection> pool;

    Commons() {
      GenericObjectPoolConfig<StubConnection> config = new GenericObjectPoolConfig<>();
      config.setMaxTotal(CONNECTIONS);
      config.setMaxIdle(CONNECTIONS);
      config.setJmxEnabled(false);
      pool = new GenericObjectPool<>(new BasePooledObjectFactory<StubConnection>() {
        @Override public StubConnection create() { return new StubConnection(); }

        @Override
        public PooledObject<StubConnection> wrap(StubConnection connection) {
          return new DefaultPooledObject<>(connection);
        }
      }, config);
    }

    @Override public String name() { return "commons-pool2"; }

    @Override
    public void withOne() throws Exception {
      StubConnection connection = pool.borrowObject();
      try {
        connection.getHoldability();
      } finally {
        pool.returnObject(connection);
      }
    }

    @Override public void close() { pool.close(); }
  }

  static final class StubSource implements DataSource {
    @Override public Connection getConnection() { return new StubConnection(); }
    @Override public Connection getConnection(String user, String password) { return getConnection(); }
    @Override public PrintWriter getLogWriter() { return null; }
    @Override public void setLogWriter(PrintWriter writer) {}
    @Override public int getLoginTimeout() { return 0; }
    @Override public void setLoginTimeout(int seconds) {}
    @Override public Logger getParentLogger() { return Logger.getGlobal(); }
    @Override public <T> T unwrap(Class<T> type) { throw new UnsupportedOperationException("a stub"); }
    @Override public boolean isWrapperFor(Class<?> type) { return false; }
  }

  /** Counts the uses of one thread; read by another while it counts. */
  private static final class Worker extends Thread {
    // A cache line of padding on both sides: counters of two threads must not share one.
    @SuppressWarnings("unused") private long p0, p1, p2, p3, p4, p5, p6, p7;
    volatile long uses;
    @SuppressWarnings("unused") private long q0, q1, q2, q3, q4, q5, q6, q7;
    private final Pool pool;
    private final CountDownLatch ready;

    Worker(Pool pool, CountDownLatch ready) {
      this.pool = pool;
      this.ready = ready;
    }

    @Override
    public void run() {
      try {
        ready.countDown();
        ready.await();
        // Counted in batches, because a volatile store costs a fence here and none in C++.
        for (long done = 0; !over; uses = done) {
          for (int i = 0; i < 64; ++i) {
            pool.withOne();
          }
          done += 64;
        }
      } catch (Exception error) {
        error.printStackTrace();
        System.exit(1);
      }
    }
  }

  private static long usesOf(Worker[] workers) {
    return Arrays.stream(workers).mapToLong(worker -> worker.uses).sum();
  }

  private static double nanosecondsPerUse(Pool pool, int threads, long milliseconds) throws Exception {
    over = false;
    CountDownLatch ready = new CountDownLatch(threads + 1);
    Worker[] workers = new Worker[threads];
    for (int i = 0; i < threads; ++i) {
      workers[i] = new Worker(pool, ready);
      workers[i].start();
    }
    ready.countDown();
    ready.await();
    Thread.sleep(milliseconds / 4);
    long before = usesOf(workers);
    long begin = System.nanoTime();
    Thread.sleep(milliseconds);
    long uses = usesOf(workers) - before;
    long end = System.nanoTime();
    over = true;
    for (Worker worker : workers) {
      worker.join();
    }
    return (double) (end - begin) / Math.max(uses, 1);
  }

  public static void main(String[] arguments) throws Exception {
    int rounds = Integer.parseInt(arguments[0]);
    long milliseconds = Long.parseLong(arguments[1]);
    try (Pool hikari = new Hikari(); Pool commons = new Commons()) {
      Pool[] pools = {hikari, commons};
      double[][][] found = new double[pools.length][THREADS.length][rounds];
      for (int round = -2; round < rounds; ++round) { // the first two warm up the compiler
        for (int pool = 0; pool < pools.length; ++pool) {
          for (int i = 0; i < THREADS.length; ++i) {
            double one = nanosecondsPerUse(pools[pool], THREADS[i], milliseconds);
            if (round >= 0) {
              found[pool][i][round] = one;
            }
          }
        }
      }
      for (int pool = 0; pool < pools.length; ++pool) {
        StringBuilder line = new StringBuilder(pools[pool].name());
        for (double[] values : found[pool]) {
          Arrays.sort(values);
          line.append(String.format(" %.1f", values[rounds / 2]));
        }
        System.out.println(line);
      }
    }
  }
}
