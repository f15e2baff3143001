// OpenVINO's headers, for the few files of this plug-in.
#pragma once

#include <openvino/openvino.hpp>
