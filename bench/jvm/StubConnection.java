import java.sql.*;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Executor;

/**
 * A driver's connection that does nothing. Written out and not a java.lang.reflect.Proxy, so that no
 * reflection is measured: a pool calls clearWarnings each time a connection comes back.
 */
final class StubConnection implements Connection {
  private int queries;

  /** The work a user does, as the C++ bench does it: one count. */
  @Override public int getHoldability() { return ++queries; }
  @Override public void clearWarnings() {}

  // Called by a pool on a connection that it has just made, or now and then.
  @Override public boolean isValid(int timeout) { return true; }
  @Override public boolean isClosed() { return false; }
  @Override public boolean getAutoCommit() { return true; }
  @Override public void setAutoCommit(boolean on) {}
  @Override public boolean isReadOnly() { return false; }
  @Override public void setReadOnly(boolean on) {}
  @Override public int getTransactionIsolation() { return TRANSACTION_READ_COMMITTED; }
  @Override public void setTransactionIsolation(int level) {}
  @Override public int getNetworkTimeout() { return 0; }
  @Override public void setNetworkTimeout(Executor executor, int milliseconds) {}
  @Override public String getCatalog() { return "stub"; }
  @Override public void setCatalog(String name) {}
  @Override public String getSchema() { return "stub"; }
  @Override public void setSchema(String name) {}
  @Override public SQLWarning getWarnings() { return null; }
  @Override public void commit() {}
  @Override public void rollback() {}
  @Override public void close() {}
  @Override public void abort(Executor executor) {}

  // Never called by these pools.
  private static <T> T no() { throw new UnsupportedOperationException("a stub has no statements"); }
  @Override public Statement createStatement() { return no(); }
  @Override public Statement createStatement(int a, int b) { return no(); }
  @Override public Statement createStatement(int a, int b, int c) { return no(); }
  @Override public PreparedStatement prepareStatement(String sql) { return no(); }
  @Override public PreparedStatement prepareStatement(String sql, int a) { return no(); }
  @Override public PreparedStatement prepareStatement(String sql, int[] a) { return no(); }
  @Override public PreparedStatement prepareStatement(String sql, String[] a) { return no(); }
  @Override public PreparedStatement prepareStatement(String sql, int a, int b) { return no(); }
  @Override public PreparedStatement prepareStatement(String sql, int a, int b, int c) { return no(); }
  @Override public CallableStatement prepareCall(String sql) { return no(); }
  @Override public CallableStatement prepareCall(String sql, int a, int b) { return no(); }
  @Override public CallableStatement prepareCall(String sql, int a, int b, int c) { return no(); }
  @Override public String nativeSQL(String sql) { return no(); }
  @Override public DatabaseMetaData getMetaData() { return no(); }
  @Override public Map<String, Class<?>> getTypeMap() { return no(); }
  @Override public void setTypeMap(Map<String, Class<?>> map) { no(); }
  @Override public void setHoldability(int holdability) { no(); }
  @Override public Savepoint setSavepoint() { return no(); }
  @Override public Savepoint setSavepoint(String name) { return no(); }
  @Override public void rollback(Savepoint savepoint) { no(); }
  @Override public void releaseSavepoint(Savepoint savepoint) { no(); }
  @Override public Clob createClob() { return no(); }
  @Override public Blob createBlob() { return no(); }
  @Override public NClob createNClob() { return no(); }
  @Override public SQLXML createSQLXML() { return no(); }
  @Override public void setClientInfo(String name, String value) { no(); }
  @Override public void setClientInfo(Properties properties) { no(); }
  @Override public String getClientInfo(String name) { return no(); }
  @Override public Properties getClientInfo() { return no(); }
  @Override public Array createArrayOf(String type, Object[] elements) { return no(); }
  @Override public Struct createStruct(String type, Object[] attributes) { return no(); }
  @Override public <T> T unwrap(Class<T> type) { return no(); }
  @Override public boolean isWrapperFor(Class<?> type) { return false; }
}
