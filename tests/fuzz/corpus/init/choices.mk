mLEVEL ?= fast
LEVEL_safe = -O1
LEVEL_fast = -O2
LEVEL_max = -O3
USE_LTO ?= 0
NATIVE ?=
CFLAGS = $(LEVEL_$(LEVEL)) $(if $(NATIVE),-march=native)
ifeq ($(USE_LTO),1)
CFLAGS += -flto
endif
ifdef FASTMATH
  CFLAGS += -ffast-math
endif
override LOCKED = -flto
OBJ := $(patsubst src/%.c,obj/%.o,$(wildcard src/*.c))

bin/train: $(OBJ)
	$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)

obj/%.o: src/%.c
	$(CC) $(CFLAGS) -c -o $@ $<

run: bin/train
	@echo starting && ./bin/train --micro-batch=4 --accum 2 --threads 3 2>&1 | tee log.txt
