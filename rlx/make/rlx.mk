# Networks as C files that make emits when they are needed. In a makefile, with GNU make:
#
#   include $(shell rlx paths --make)
#   $(eval $(call rlx_network,kws,kws.tflite,--cpu cortex-m4 --ram 32K))
#
#   firmware.elf: main.c $(kws_SOURCES) $(kws_HEADER)
#   	$(CC) -O2 $(kws_CPPFLAGS) main.c $(kws_SOURCES) -o $@
#
# "rlx emit" runs if the model, an option or rlx changed. What it wrote is in $(RLX_BUILD)/kws.

RLX ?= rlx
RLX_BUILD ?= rlx
RLX_VERSION_FILE := $(dir $(lastword $(MAKEFILE_LIST)))../support/version.py

# The first rule of the makefile stays the default one.
rlx_goal := $(.DEFAULT_GOAL)
.PHONY: rlx_force
rlx_force:
.DEFAULT_GOAL := $(rlx_goal)

rlx_quote = '$(subst ','\'',$(1))'

# $(eval $(call rlx_network,NAME,MODEL,OPTIONS)): define for a network, whose C names begin with NAME,
#   NAME_SOURCES    the C files
#   NAME_HEADER     its header
#   NAME_CPPFLAGS   -I with the header's folder
# OPTIONS are those of "rlx emit --target cortexm", quoted as for a shell.
define rlx_network
rlx_goal := $$(.DEFAULT_GOAL)
$(1)_HEADER := $(RLX_BUILD)/$(1)/include/$(1).h
$(1)_CPPFLAGS := -I$(RLX_BUILD)/$(1)/include
$(1)_SOURCES := $(RLX_BUILD)/$(1)/src/$(1).c $(RLX_BUILD)/$(1)_constants.c
ifneq ($$(filter --static-arena,$(3)),)
$(1)_SOURCES += $(RLX_BUILD)/$(1)/src/$(1)_arena.c
endif
ifneq ($$(filter --self-test%,$(3)),)
$(1)_SOURCES += $(RLX_BUILD)/$(1)/src/$(1)_self_test.c
endif

# Other options are another network. The file changes only if they do.
$(RLX_BUILD)/$(1).options: rlx_force
	@mkdir -p $(RLX_BUILD)
	@printf '%s\n' $(call rlx_quote,$(3)) | cmp -s - $$@ || printf '%s\n' $(call rlx_quote,$(3)) > $$@

$(RLX_BUILD)/$(1).stamp: $(2) $(RLX_BUILD)/$(1).options $(RLX_VERSION_FILE)
	$(RLX) -q emit --target cortexm --prefix $(1) --package none $(3) -o $(RLX_BUILD)/$(1) --force --json \
	  -- $(2) > /dev/null
	@{ for part in weights self_check labels; do \
	    if [ -f $(RLX_BUILD)/$(1)/src/$(1)_$$$$part.c ]; then echo "#include \"$(1)/src/$(1)_$$$$part.c\""; fi; \
	  done; echo 'typedef int $(1)_constants_end;'; } > $(RLX_BUILD)/$(1)_constants.new
	@if cmp -s $(RLX_BUILD)/$(1)_constants.new $(RLX_BUILD)/$(1)_constants.c && ! find \
	  $(RLX_BUILD)/$(1)/src -newer $(RLX_BUILD)/$(1)_constants.c -name '*.c' | grep -q .; \
	  then rm $(RLX_BUILD)/$(1)_constants.new; \
	  else mv $(RLX_BUILD)/$(1)_constants.new $(RLX_BUILD)/$(1)_constants.c; fi
	@touch $$@

$$($(1)_SOURCES) $$($(1)_HEADER): $(RLX_BUILD)/$(1).stamp ;
.DEFAULT_GOAL := $$(rlx_goal)
endef
