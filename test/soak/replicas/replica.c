/*
 * ClickHouse as a replica: the engine of chDB listens like a server (SYSTEM START LISTEN) and speaks to ZooKeeper, but
 * does not know its own address and does not hand out parts. This changes both in memory, for one build of the engine.
 *
 *     replica LIBRARY PORT ARGUMENTS OF CLICKHOUSE LOCAL...
 *
 * Of the hosts that it listens on the first speaks HTTP to clients, and the second, 127.0.0.2, to other replicas.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
  COMMAND_LINE = 0xf211700,
  /* Context::getInterserverIOAddress */
  GET_ADDRESS = 0x1417c9c0,
  /* createHandlerFactory, its call for a listener of HTTP, and its jump to the handler of clients */
  MAKE_HANDLERS = 0x18395cc0,
  CALL_FOR_HTTP = 0xf117ff6,
  CLIENTS_JUMP = 0x18395d32,
  FOR_CLIENTS = 0x18395ffa,
  FOR_REPLICAS = 0x18395dbc,
  /* Between two functions, near enough for a call */
  UNUSED = 0x1417c988,
  /* Of what contexts share: host, port and scheme, and the credentials of replicas */
  HOST = 0x150,
  PORT = 0x168,
  SCHEME = 0x170,
  CREDENTIALS = 0x1b0,
  STRING = 24,
};

struct pair {
  void *first, *second;
};

static char *library;
static uint16_t port;

static void write_at(uintptr_t place, const void *bytes, size_t count) {
  char *at = library + place;
  void *page = (void *)((uintptr_t)at & ~4095ul);
  if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) abort();
  memcpy(at, bytes, count);
}

static void jump_to(uintptr_t place, void *function) {
  unsigned char code[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
  memcpy(code + 2, &function, sizeof function);
  write_at(place, code, sizeof code);
}

static void call_to(uintptr_t place, uintptr_t target) {
  int32_t distance = target - (place + 5);
  write_at(place + 1, &distance, sizeof distance);
}

static void set_string(char *string, const char *text) {
  strcpy(string, text);
  string[STRING - 1] = strlen(text);
}

static char *get_address(char *result, char **context) {
  /* User and password are empty, and they are the only ones allowed. */
  static char nobody[2 * STRING];
  static struct {
    char current[2 * STRING];
    char *begin, *end, *reserved;
  } credentials = {.begin = nobody, .end = nobody + sizeof nobody, .reserved = nobody + sizeof nobody};
  char *shared = *context;
  set_string(shared + HOST, "127.0.0.2");
  memcpy(shared + PORT, &port, sizeof port);
  set_string(shared + SCHEME, "http");
  *(void **)(shared + CREDENTIALS) = &credentials;
  memcpy(result, shared + HOST, STRING + sizeof port);
  return result;
}

static struct pair make_handlers(void *server, void *config, void *metrics, void *name, void *more) {
  static int calls;
  struct pair (*make)(void *, void *, void *, void *, void *) = (void *)(library + MAKE_HANDLERS);
  int32_t distance = (calls++ % 2 == 0 ? FOR_CLIENTS : FOR_REPLICAS) - (CLIENTS_JUMP + 6);
  write_at(CLIENTS_JUMP + 2, &distance, sizeof distance);
  return make(server, config, metrics, name, more);
}

int main(int count, char **arguments) {
  void *handle = count > 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  void *(*command_line)(int, char **) = handle ? dlsym(handle, "chdb_query_cmdline") : NULL;
  Dl_info info;
  if (!command_line || !dladdr(command_line, &info)) {
    fprintf(stderr, "%s\n", count > 2 ? dlerror() : "usage: replica LIBRARY PORT ARGUMENTS");
    return 1;
  }
  library = info.dli_fbase;
  if ((char *)command_line - library != COMMAND_LINE || memcmp(library + CLIENTS_JUMP, "\x0f\x84", 2) != 0) {
    fprintf(stderr, "another build of the engine than chDB 26.7.2.1\n");
    return 1;
  }
  port = atoi(arguments[2]);
  jump_to(GET_ADDRESS, get_address);
  jump_to(UNUSED, make_handlers);
  call_to(CALL_FOR_HTTP, UNUSED);
  arguments[2] = "local";
  void *result = command_line(count - 2, arguments + 2);
  char *(*error_of)(void *) = dlsym(handle, "chdb_result_error");
  char *error = result ? error_of(result) : NULL;
  fprintf(stderr, "%s\n", error ? error : "all statements have run");
  return 1;
}
