#pragma once
// Declares nothing: start.c does its work before main.
