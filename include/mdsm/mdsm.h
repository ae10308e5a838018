// The public interface of mdsm. <mdsm/c.h> is the one for C.
#pragma once

#include <mdsm/dataset.h>
#include <mdsm/energy_model.h>
#include <mdsm/error.h>
#include <mdsm/model.h>
#include <mdsm/progress.h>
#include <mdsm/settings.h>
#include <mdsm/tensor.h>
#include <mdsm/threads.h>
#include <mdsm/train.h>
#include <mdsm/version.h>
