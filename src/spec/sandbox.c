#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "base/memory.h"
#include "spec/sandbox.h"

#define CHUNK "expression"

struct sandbox {
	lua_State *lua;
	size_t used_bytes;
	int n_chunks;
};

/* Values in the registry, by address: keys that no expression can form. */
static const char values_key, chunks_key;

static void *allocate(void *context, void *old, size_t old_size, size_t size)
{
	struct sandbox *s = context;
	size_t held = old ? old_size : 0; /* without a block, Lua passes a type code instead of a size */
	if (size == 0) {
		free(old);
		s->used_bytes -= held;
		return NULL;
	}
	if (s->used_bytes - held + size > SANDBOX_MEMORY_BYTES)
		return NULL;
	void *block = realloc(old, size);
	if (block)
		s->used_bytes = s->used_bytes - held + size;
	return block;
}

static void stop_at_limit(lua_State *lua, lua_Debug *record)
{
	(void)record;
	luaL_error(lua, "takes more than %d instructions", SANDBOX_INSTRUCTIONS);
}

static int raise_unknown(lua_State *lua)
{
	const char *name = lua_type(lua, 2) == LUA_TSTRING ? lua_tostring(lua, 2) : "?";
	return luaL_error(lua, "unknown name '%s'", name);
}

static int raise_assignment(lua_State *lua)
{
	return luaL_error(lua, "an expression cannot assign");
}

static int extreme(lua_State *lua, int wanted_order)
{
	int count = lua_gettop(lua), best = 1;
	luaL_checknumber(lua, 1);
	for (int i = 2; i <= count; i++) {
		luaL_checknumber(lua, i);
		bool is_better = wanted_order < 0 ? lua_compare(lua, i, best, LUA_OPLT)
						  : lua_compare(lua, best, i, LUA_OPLT);
		if (is_better)
			best = i;
	}
	lua_pushvalue(lua, best);
	return 1;
}

static int function_min(lua_State *lua)
{
	return extreme(lua, -1);
}

static int function_max(lua_State *lua)
{
	return extreme(lua, 1);
}

static int push_rounded(lua_State *lua, double value)
{
	lua_Integer whole;
	if (lua_numbertointeger(value, &whole))
		lua_pushinteger(lua, whole);
	else
		lua_pushnumber(lua, value);
	return 1;
}

static int function_floor(lua_State *lua)
{
	if (lua_isinteger(lua, 1))
		return lua_pushvalue(lua, 1), 1;
	return push_rounded(lua, floor(luaL_checknumber(lua, 1)));
}

static int function_ceil(lua_State *lua)
{
	if (lua_isinteger(lua, 1))
		return lua_pushvalue(lua, 1), 1;
	return push_rounded(lua, ceil(luaL_checknumber(lua, 1)));
}

static const luaL_Reg functions[] = {
	{"min", function_min},
	{"max", function_max},
	{"floor", function_floor},
	{"ceil", function_ceil},
};

/*
 * An expression sees an empty table whose metatable reads from the values and refuses writes; the values'
 * metatable refuses names that are not there. Neither metatable can be reached without a library.
 */
static int set_up(lua_State *lua)
{
	lua_newtable(lua); /* values */
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		lua_pushcfunction(lua, functions[i].func);
		lua_setfield(lua, -2, functions[i].name);
	}
	lua_newtable(lua);
	lua_pushcfunction(lua, raise_unknown);
	lua_setfield(lua, -2, "__index");
	lua_setmetatable(lua, -2);
	lua_pushvalue(lua, -1);
	lua_rawsetp(lua, LUA_REGISTRYINDEX, &values_key);

	lua_newtable(lua); /* what _ENV is */
	lua_newtable(lua);
	lua_rotate(lua, -3, -1);
	lua_setfield(lua, -2, "__index");
	lua_pushcfunction(lua, raise_assignment);
	lua_setfield(lua, -2, "__newindex");
	lua_setmetatable(lua, -2);
	lua_rawseti(lua, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);

	lua_newtable(lua);
	lua_rawsetp(lua, LUA_REGISTRYINDEX, &chunks_key);
	return 0;
}

/* Lua's message without "expression:1: " in front. */
static const char *message_of(lua_State *lua)
{
	const char *text = lua_type(lua, -1) == LUA_TSTRING ? lua_tostring(lua, -1) : "failed";
	size_t prefix = strlen(CHUNK);
	if (strncmp(text, CHUNK ":", prefix + 1) != 0)
		return text;
	size_t digits = strspn(text + prefix + 1, "0123456789");
	const char *rest = text + prefix + 1 + digits;
	return digits && rest[0] == ':' && rest[1] == ' ' ? rest + 2 : text;
}

static enum err_code protect(struct sandbox *s, lua_CFunction function, void *context, struct err *reterr)
{
	lua_State *lua = s->lua;
	lua_settop(lua, 0);
	lua_sethook(lua, stop_at_limit, LUA_MASKCOUNT, SANDBOX_INSTRUCTIONS);
	lua_pushcfunction(lua, function);
	lua_pushlightuserdata(lua, context);
	switch (lua_pcall(lua, 1, 1, 0)) {
	case LUA_OK:
		return OK;
	case LUA_ERRMEM:
		return err_set(reterr, ERR_LIMIT, "needs more than the %d KiB of memory allowed",
			SANDBOX_MEMORY_BYTES / 1024);
	default:
		return err_set(reterr, ERR_INPUT, "%s", message_of(lua));
	}
}

struct sandbox *sandbox_new(void)
{
	struct sandbox *s = xcalloc(1, sizeof(*s));
	s->lua = lua_newstate(allocate, s);
	if (!s->lua || protect(s, set_up, NULL, NULL) != OK)
		die_oom(SANDBOX_MEMORY_BYTES);
	return s;
}

void sandbox_free(struct sandbox *s)
{
	if (!s)
		return;
	lua_close(s->lua);
	free(s);
}

struct text_part {
	const char *text;
	size_t length;
};

struct compile_call {
	struct text_part parts[2];
	size_t next;
	int handle;
};

static const char *read_part(lua_State *lua, void *context, size_t *ret_length)
{
	(void)lua;
	struct compile_call *call = context;
	if (call->next == ARRAY_LEN(call->parts))
		return NULL;
	const struct text_part *part = &call->parts[call->next++];
	*ret_length = part->length;
	return part->text;
}

static int compile(lua_State *lua)
{
	struct compile_call *call = lua_touserdata(lua, 1);
	lua_rawgetp(lua, LUA_REGISTRYINDEX, &chunks_key);
	if (lua_load(lua, read_part, call, "=" CHUNK, "t") != LUA_OK)
		return lua_error(lua);
	lua_rawseti(lua, -2, call->handle);
	return 0;
}

enum err_code sandbox_compile(struct sandbox *s, const char *expression, int *ret_handle, struct err *reterr)
{
	static const char head[] = "return ";
	struct compile_call call = {
		.parts = {{head, strlen(head)}, {expression, strlen(expression)}}, .handle = s->n_chunks + 1};
	if (!*expression)
		return err_set(reterr, ERR_INPUT, "the expression is empty");
	TRY(protect(s, compile, &call, reterr));
	*ret_handle = ++s->n_chunks;
	return OK;
}

struct set_call {
	const char *name;
	const struct sandbox_value *value;
};

static int set_value(lua_State *lua)
{
	const struct set_call *call = lua_touserdata(lua, 1);
	const struct sandbox_value *v = call->value;
	lua_Integer whole;
	lua_rawgetp(lua, LUA_REGISTRYINDEX, &values_key);
	lua_pushstring(lua, call->name);
	if (v->kind == SANDBOX_BOOL)
		lua_pushboolean(lua, v->truth);
	else if (v->kind == SANDBOX_TEXT)
		lua_pushstring(lua, v->text);
	else if (fabs(v->number) < 0x1p53 && v->number == floor(v->number) &&
		 lua_numbertointeger(v->number, &whole))
		lua_pushinteger(lua, whole);
	else
		lua_pushnumber(lua, v->number);
	lua_rawset(lua, -3);
	return 0;
}

enum err_code sandbox_set(
	struct sandbox *s, const char *name, const struct sandbox_value *value, struct err *reterr)
{
	struct set_call call = {name, value};
	return protect(s, set_value, &call, reterr);
}

static int evaluate(lua_State *lua)
{
	const int *handle = lua_touserdata(lua, 1);
	lua_rawgetp(lua, LUA_REGISTRYINDEX, &chunks_key);
	lua_rawgeti(lua, -1, *handle);
	int base = lua_gettop(lua);
	lua_call(lua, 0, LUA_MULTRET);
	int count = lua_gettop(lua) - base + 1;
	if (count != 1)
		return luaL_error(lua, "gives %d values where one is expected", count);
	return 1;
}

enum err_code sandbox_evaluate(
	struct sandbox *s, int handle, struct sandbox_value *ret_value, struct err *reterr)
{
	TRY(protect(s, evaluate, &handle, reterr));
	struct sandbox_value value = {0};
	switch (lua_type(s->lua, -1)) {
	case LUA_TBOOLEAN:
		value.kind = SANDBOX_BOOL;
		value.truth = lua_toboolean(s->lua, -1);
		break;
	case LUA_TNUMBER:
		value.kind = SANDBOX_NUMBER;
		value.is_integer = lua_isinteger(s->lua, -1);
		value.number = lua_tonumber(s->lua, -1);
		if (!isfinite(value.number))
			return err_set(reterr, ERR_INPUT, "gives a number that is not finite");
		break;
	case LUA_TSTRING:
		value.kind = SANDBOX_TEXT;
		value.text = lua_tostring(s->lua, -1);
		break;
	default:
		return err_set(reterr, ERR_INPUT, "gives a %s", lua_typename(s->lua, lua_type(s->lua, -1)));
	}
	*ret_value = value;
	return OK;
}
