//===- vulkan_host.cpp - runs a folder that was compiled for Vulkan -----------------------------------------------===//
//
//   vulkan-host FOLDER IN OUT [REPEATS]
//
// Reads input i from IN/i.bin and writes output i to OUT/i.bin, both plain floats. Prints the device, and with REPEATS the best
// time of so many runs. Exit status: 0; 1 where something failed or the validation layer had an objection; 77 where there is no
// Vulkan device. It knows of the format what docs/targets.md says, and shares no code with the compiler.
//
//===--------------------------------------------------------------------------------------------------------------===//
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using nlohmann::json;

struct NoDevice : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void check(VkResult result, const char *what) {
  if (result != VK_SUCCESS)
    throw std::runtime_error(std::string(what) + " failed with VkResult " + std::to_string(result));
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

unsigned objections = 0;
VkBool32 VKAPI_PTR onMessage(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT,
                             const VkDebugUtilsMessengerCallbackDataEXT *data, void *) {
  if (severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT) {
    std::fprintf(stderr, "validation: %s\n", data->pMessage);
    ++objections;
  }
  return VK_FALSE;
}

#define INSTANCE_FUNCTIONS(F)                                                                                               \
  F(vkEnumeratePhysicalDevices)                                                                                             \
  F(vkGetPhysicalDeviceProperties)                                                                                          \
  F(vkGetPhysicalDeviceMemoryProperties)                                                                                    \
  F(vkGetPhysicalDeviceQueueFamilyProperties)                                                                               \
  F(vkCreateDevice)                                                                                                         \
  F(vkDestroyInstance)                                                                                                      \
  F(vkDestroyDevice)                                                                                                        \
  F(vkGetDeviceQueue)                                                                                                       \
  F(vkCreateBuffer)                                                                                                         \
  F(vkDestroyBuffer)                                                                                                        \
  F(vkGetBufferMemoryRequirements)                                                                                          \
  F(vkAllocateMemory)                                                                                                       \
  F(vkFreeMemory)                                                                                                           \
  F(vkBindBufferMemory)                                                                                                     \
  F(vkMapMemory)                                                                                                            \
  F(vkCreateShaderModule)                                                                                                   \
  F(vkDestroyShaderModule)                                                                                                  \
  F(vkCreateDescriptorSetLayout)                                                                                            \
  F(vkDestroyDescriptorSetLayout)                                                                                           \
  F(vkCreatePipelineLayout)                                                                                                 \
  F(vkDestroyPipelineLayout)                                                                                                \
  F(vkCreateComputePipelines)                                                                                               \
  F(vkDestroyPipeline)                                                                                                      \
  F(vkCreateDescriptorPool)                                                                                                 \
  F(vkDestroyDescriptorPool)                                                                                                \
  F(vkAllocateDescriptorSets)                                                                                               \
  F(vkUpdateDescriptorSets)                                                                                                 \
  F(vkCreateCommandPool)                                                                                                    \
  F(vkDestroyCommandPool)                                                                                                   \
  F(vkAllocateCommandBuffers)                                                                                               \
  F(vkBeginCommandBuffer)                                                                                                   \
  F(vkEndCommandBuffer)                                                                                                     \
  F(vkCmdBindPipeline)                                                                                                      \
  F(vkCmdBindDescriptorSets)                                                                                                \
  F(vkCmdDispatch)                                                                                                          \
  F(vkCmdPipelineBarrier)                                                                                                   \
  F(vkQueueSubmit)                                                                                                          \
  F(vkQueueWaitIdle)

/// An instance, a device with a compute queue, and the functions of both.
class Device {
public:
#define MEMBER(name) PFN_##name name = nullptr;
  INSTANCE_FUNCTIONS(MEMBER)
#undef MEMBER

  Device() {
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      throw NoDevice("there is no libvulkan.so.1");
    auto get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
    createInstance(get);
#define LOAD(name)                                                                                                          \
  if (!(name = reinterpret_cast<PFN_##name>(get(instance, #name))))                                                         \
    throw std::runtime_error("Vulkan has no " #name);
    INSTANCE_FUNCTIONS(LOAD)
#undef LOAD
    if (validated)
      watch(get);
    createDevice();
  }
  ~Device() {
    if (device)
      vkDestroyDevice(device, nullptr);
    if (messenger)
      destroyMessenger(instance, messenger, nullptr);
    if (instance && vkDestroyInstance)
      vkDestroyInstance(instance, nullptr);
  }
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  uint32_t family = 0;
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceMemoryProperties memory{};
  bool validated = false;

private:
  void createInstance(PFN_vkGetInstanceProcAddr get) {
    auto create = reinterpret_cast<PFN_vkCreateInstance>(get(nullptr, "vkCreateInstance"));
    auto layers =
        reinterpret_cast<PFN_vkEnumerateInstanceLayerProperties>(get(nullptr, "vkEnumerateInstanceLayerProperties"));
    uint32_t count = 0;
    check(layers(&count, nullptr), "vkEnumerateInstanceLayerProperties");
    std::vector<VkLayerProperties> list(count);
    check(layers(&count, list.data()), "vkEnumerateInstanceLayerProperties");
    const char *layer = "VK_LAYER_KHRONOS_validation", *extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    validated =
        std::any_of(list.begin(), list.end(), [&](const VkLayerProperties &p) { return !std::strcmp(p.layerName, layer); });
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_1;
    VkValidationFeatureEnableEXT hazards = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    VkValidationFeaturesEXT features{};
    features.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
    features.enabledValidationFeatureCount = 1;
    features.pEnabledValidationFeatures = &hazards;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    if (validated) {
      info.pNext = &features;
      info.enabledLayerCount = info.enabledExtensionCount = 1;
      info.ppEnabledLayerNames = &layer;
      info.ppEnabledExtensionNames = &extension;
    }
    if (create(&info, nullptr, &instance) != VK_SUCCESS)
      throw NoDevice("vkCreateInstance failed: no Vulkan driver is installed");
  }
  void watch(PFN_vkGetInstanceProcAddr get) {
    auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(get(instance, "vkCreateDebugUtilsMessengerEXT"));
    destroyMessenger =
        reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(get(instance, "vkDestroyDebugUtilsMessengerEXT"));
    VkDebugUtilsMessengerCreateInfoEXT info{};
    info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    info.pfnUserCallback = onMessage;
    check(create(instance, &info, nullptr, &messenger), "vkCreateDebugUtilsMessengerEXT");
  }
  void createDevice() {
    uint32_t count = 0;
    if (vkEnumeratePhysicalDevices(instance, &count, nullptr) != VK_SUCCESS || count == 0)
      throw NoDevice("there is no Vulkan device");
    std::vector<VkPhysicalDevice> list(count);
    check(vkEnumeratePhysicalDevices(instance, &count, list.data()), "vkEnumeratePhysicalDevices");
    for (VkPhysicalDevice candidate : list) {
      uint32_t families = 0;
      vkGetPhysicalDeviceQueueFamilyProperties(candidate, &families, nullptr);
      std::vector<VkQueueFamilyProperties> queues(families);
      vkGetPhysicalDeviceQueueFamilyProperties(candidate, &families, queues.data());
      for (family = 0; family < families && !(queues[family].queueFlags & VK_QUEUE_COMPUTE_BIT);)
        ++family;
      vkGetPhysicalDeviceProperties(candidate, &properties);
      if (family == families || properties.apiVersion < VK_API_VERSION_1_1)
        continue;
      vkGetPhysicalDeviceMemoryProperties(candidate, &memory);
      float priority = 1;
      VkDeviceQueueCreateInfo queueInfo{};
      queueInfo.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
      queueInfo.queueFamilyIndex = family;
      queueInfo.queueCount = 1;
      queueInfo.pQueuePriorities = &priority;
      VkDeviceCreateInfo info{};
      info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
      info.queueCreateInfoCount = 1;
      info.pQueueCreateInfos = &queueInfo;
      check(vkCreateDevice(candidate, &info, nullptr, &device), "vkCreateDevice");
      vkGetDeviceQueue(device, family, 0, &queue);
      return;
    }
    throw NoDevice("no device has Vulkan 1.1 and a compute queue");
  }

  VkInstance instance = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  PFN_vkDestroyDebugUtilsMessengerEXT destroyMessenger = nullptr;
};

/// Memory that host and device see, with a strip behind it that nobody may write.
class Buffer {
public:
  static constexpr uint64_t strip = 4096;
  Buffer(Device &vk, uint64_t used) : vk(vk), used(used), bytes(used + strip) {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    check(vk.vkCreateBuffer(vk.device, &info, nullptr, &buffer), "vkCreateBuffer");
    VkMemoryRequirements needs;
    vk.vkGetBufferMemoryRequirements(vk.device, buffer, &needs);
    constexpr VkMemoryPropertyFlags shared = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t type = 0;
    while (type < vk.memory.memoryTypeCount &&
           (!(needs.memoryTypeBits >> type & 1) || (vk.memory.memoryTypes[type].propertyFlags & shared) != shared))
      ++type;
    if (type == vk.memory.memoryTypeCount)
      throw std::runtime_error("the device has no memory that the host sees");
    VkMemoryAllocateInfo allocate{};
    allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = type;
    check(vk.vkAllocateMemory(vk.device, &allocate, nullptr, &memory), "vkAllocateMemory");
    check(vk.vkBindBufferMemory(vk.device, buffer, memory, 0), "vkBindBufferMemory");
    void *pointer = nullptr;
    check(vk.vkMapMemory(vk.device, memory, 0, VK_WHOLE_SIZE, 0, &pointer), "vkMapMemory");
    data = static_cast<char *>(pointer);
    std::memset(data, 0xff, bytes); // NaN: what no step writes is no number
  }
  ~Buffer() {
    vk.vkDestroyBuffer(vk.device, buffer, nullptr);
    vk.vkFreeMemory(vk.device, memory, nullptr);
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  void fill(const std::string &from, const std::string &what, uint64_t expected) {
    if (from.size() != expected)
      throw std::runtime_error(what + " has " + std::to_string(from.size()) + " bytes, expected " +
                               std::to_string(expected));
    std::memcpy(data, from.data(), from.size());
  }

  void checkStrip() const {
    for (uint64_t i = used; i < bytes; ++i)
      if (data[i] != '\xff')
        throw std::runtime_error("a step wrote " + std::to_string(i - used) + " bytes behind the end of a buffer");
  }

  Device &vk;
  uint64_t used, bytes;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  char *data = nullptr;
};

/// A folder on a device: pipelines, and one command buffer with all steps.
class Program {
public:
  Program(Device &vk, const std::string &folder)
      : vk(vk), plan(json::parse(readFile(folder + "/plan.json"))), weights(vk, plan["weights"]["bytes"]),
        arena(vk, plan["arena"]["bytes"]) {
    if (plan["format"] != 1)
      throw std::runtime_error("plan.json has format " + plan["format"].dump() + ", expected 1");
    weights.fill(readFile(folder + "/" + plan["weights"]["file"].get<std::string>()), "weights", plan["weights"]["bytes"]);
    for (const json &port : plan["inputs"])
      inputs.push_back(std::make_unique<Buffer>(vk, bytesOf(port)));
    for (const json &port : plan["outputs"])
      outputs.push_back(std::make_unique<Buffer>(vk, bytesOf(port)));
    std::string code = readFile(folder + "/" + plan["shaders"]["file"].get<std::string>());
    std::vector<uint32_t> words(code.size() / 4);
    std::memcpy(words.data(), code.data(), words.size() * 4);
    VkShaderModuleCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    info.codeSize = words.size() * 4;
    info.pCode = words.data();
    check(vk.vkCreateShaderModule(vk.device, &info, nullptr, &module), "vkCreateShaderModule");
    record();
  }
  ~Program() {
    for (const Pipeline &p : pipelines) {
      vk.vkDestroyPipeline(vk.device, p.pipeline, nullptr);
      vk.vkDestroyPipelineLayout(vk.device, p.layout, nullptr);
      vk.vkDestroyDescriptorSetLayout(vk.device, p.bindings, nullptr);
    }
    vk.vkDestroyShaderModule(vk.device, module, nullptr);
    vk.vkDestroyDescriptorPool(vk.device, descriptors, nullptr);
    vk.vkDestroyCommandPool(vk.device, commands, nullptr);
  }
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  void run() {
    VkSubmitInfo submit{};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &list;
    check(vk.vkQueueSubmit(vk.queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
    check(vk.vkQueueWaitIdle(vk.queue), "vkQueueWaitIdle");
  }
  uint64_t bytesOf(const json &port) const { return plan["buffers"][port["buffer"].get<size_t>()]["bytes"]; }

  Device &vk;
  json plan;
  Buffer weights, arena;
  std::vector<std::unique_ptr<Buffer>> inputs, outputs;

private:
  struct Pipeline {
    VkDescriptorSetLayout bindings;
    VkPipelineLayout layout;
    VkPipeline pipeline;
  };

  Pipeline make(const std::string &entry, uint32_t count) {
    Pipeline p{};
    std::vector<VkDescriptorSetLayoutBinding> bindings(count);
    for (uint32_t i = 0; i < count; ++i)
      bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    VkDescriptorSetLayoutCreateInfo set{};
    set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    set.bindingCount = count;
    set.pBindings = bindings.data();
    check(vk.vkCreateDescriptorSetLayout(vk.device, &set, nullptr, &p.bindings), "vkCreateDescriptorSetLayout");
    VkPipelineLayoutCreateInfo layout{};
    layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout.setLayoutCount = 1;
    layout.pSetLayouts = &p.bindings;
    check(vk.vkCreatePipelineLayout(vk.device, &layout, nullptr, &p.layout), "vkCreatePipelineLayout");
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = entry.c_str();
    info.layout = p.layout;
    check(vk.vkCreateComputePipelines(vk.device, VK_NULL_HANDLE, 1, &info, nullptr, &p.pipeline),
          "vkCreateComputePipelines");
    return p;
  }

  VkDescriptorBufferInfo place(size_t number) {
    const json &buffer = plan["buffers"][number];
    const std::string kind = buffer["kind"];
    uint64_t bytes = std::max<uint64_t>(4, buffer["bytes"]);
    // With the strip behind them, as drivers that check bounds would hide what is written there.
    if (kind == "input")
      return {inputs[buffer["port"].get<size_t>()]->buffer, 0, VK_WHOLE_SIZE};
    if (kind == "output")
      return {outputs[buffer["port"].get<size_t>()]->buffer, 0, VK_WHOLE_SIZE};
    // Nothing reads a buffer without elements, but something must be bound.
    uint64_t offset = buffer["bytes"] == 0 ? 0 : buffer["offset"].get<uint64_t>();
    return {kind == "weight" ? weights.buffer : arena.buffer, offset, bytes};
  }

  void record() {
    const json &entries = plan["shaders"]["entries"], &steps = plan["steps"];
    uint32_t total = 0;
    for (const json &step : steps)
      total += step["bindings"].size();
    VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, std::max<uint32_t>(total, 1)};
    VkDescriptorPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pool.maxSets = std::max<size_t>(steps.size(), 1);
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    check(vk.vkCreateDescriptorPool(vk.device, &pool, nullptr, &descriptors), "vkCreateDescriptorPool");
    VkCommandPoolCreateInfo commandPool{};
    commandPool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    commandPool.queueFamilyIndex = vk.family;
    check(vk.vkCreateCommandPool(vk.device, &commandPool, nullptr, &commands), "vkCreateCommandPool");
    VkCommandBufferAllocateInfo allocate{};
    allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    allocate.commandPool = commands;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = 1;
    check(vk.vkAllocateCommandBuffers(vk.device, &allocate, &list), "vkAllocateCommandBuffers");

    std::vector<size_t> pipelineOf(entries.size(), std::numeric_limits<size_t>::max());
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    check(vk.vkBeginCommandBuffer(list, &begin), "vkBeginCommandBuffer");
    for (const json &step : steps) {
      size_t number = step["entry"];
      const json &entry = entries[number];
      std::array<uint32_t, 3> groups = entry["workgroups"];
      if (!groups[0])
        continue;
      if (pipelineOf[number] == std::numeric_limits<size_t>::max()) {
        pipelineOf[number] = pipelines.size();
        pipelines.push_back(make(entry["name"], step["bindings"].size()));
      }
      const Pipeline &pipeline = pipelines[pipelineOf[number]];
      VkDescriptorSetAllocateInfo allocateSet{};
      allocateSet.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
      allocateSet.descriptorPool = descriptors;
      allocateSet.descriptorSetCount = 1;
      allocateSet.pSetLayouts = &pipeline.bindings;
      VkDescriptorSet set = VK_NULL_HANDLE;
      check(vk.vkAllocateDescriptorSets(vk.device, &allocateSet, &set), "vkAllocateDescriptorSets");
      uint32_t binding = 0;
      for (size_t buffer : step["bindings"]) {
        VkDescriptorBufferInfo where = place(buffer);
        VkWriteDescriptorSet write{};
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write.dstSet = set;
        write.dstBinding = binding++;
        write.descriptorCount = 1;
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = &where;
        vk.vkUpdateDescriptorSets(vk.device, 1, &write, 0, nullptr);
      }
      vk.vkCmdBindPipeline(list, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
      vk.vkCmdBindDescriptorSets(list, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &set, 0, nullptr);
      vk.vkCmdDispatch(list, groups[0], groups[1], groups[2]);
      VkMemoryBarrier barrier{};
      barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
      barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_SHADER_READ_BIT;
      barrier.dstAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_HOST_READ_BIT;
      vk.vkCmdPipelineBarrier(list, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                              VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr,
                              0, nullptr);
    }
    check(vk.vkEndCommandBuffer(list), "vkEndCommandBuffer");
  }

  VkShaderModule module = VK_NULL_HANDLE;
  VkDescriptorPool descriptors = VK_NULL_HANDLE;
  VkCommandPool commands = VK_NULL_HANDLE;
  VkCommandBuffer list = VK_NULL_HANDLE;
  std::vector<Pipeline> pipelines;
};

void run(const std::string &folder, const std::string &in, const std::string &out, int repeats) {
  Device vk;
  std::printf("device %s, validation %s\n", vk.properties.deviceName, vk.validated ? "on" : "off");
  Program program(vk, folder);
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    std::string path = in + "/" + std::to_string(i) + ".bin";
    program.inputs[i]->fill(readFile(path), path, program.bytesOf(program.plan["inputs"][i]));
  }
  program.run();
  for (const Buffer *buffer : {&program.weights, &program.arena})
    buffer->checkStrip();
  for (const auto &buffer : program.inputs)
    buffer->checkStrip();
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    program.outputs[i]->checkStrip();
    std::ofstream file(out + "/" + std::to_string(i) + ".bin", std::ios::binary);
    file.write(program.outputs[i]->data, static_cast<std::streamsize>(program.bytesOf(program.plan["outputs"][i])));
    if (!file.flush())
      throw std::runtime_error("cannot write to " + out);
  }
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) {
    auto start = std::chrono::steady_clock::now();
    program.run();
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  if (repeats > 0)
    std::printf("best of %d: %.3f ms\n", repeats, best);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: vulkan-host FOLDER IN OUT [REPEATS]\n");
    return 2;
  }
  try {
    run(argv[1], argv[2], argv[3], argc > 4 ? std::stoi(argv[4]) : 0);
  } catch (const NoDevice &missing) {
    std::fprintf(stderr, "%s\n", missing.what());
    return 77;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  if (objections)
    std::fprintf(stderr, "%u objections of the validation layer\n", objections);
  return objections ? 1 : 0;
}
