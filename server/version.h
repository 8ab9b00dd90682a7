/* version -- what this is called. */
#pragma once

#define TENSORD_VERSION "0.1.0"
