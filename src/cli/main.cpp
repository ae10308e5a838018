#include "cli/program.h"

int main(int argc, char** argv) { return mdsm::cli::program(argc, argv); }
