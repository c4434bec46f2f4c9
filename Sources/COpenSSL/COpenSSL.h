#pragma once
#include <openssl/ssl.h>
