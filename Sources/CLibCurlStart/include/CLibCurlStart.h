#pragma once
// Nothing to call: what start.c does, it does before main.
